// MatMulInteger and QLinearMatMul of bytes: sums of products without their zero points, in 32 bits
// that wrap.
#include "kernels/bind/quantized_matmul.h"
#include "kernels/cuda/byte_tiles.cuh"
#include "kernels/cuda/launch.cuh"

namespace onward::kernels::cuda {
namespace {

constexpr int kMostBatchAxes = 8;

// Batch axes, the last first, with the strides of both operands in elements.
struct ProductBox {
  int64_t m = 0, n = 0, k = 0;
  int batch_axes = 0;
  int64_t batch[kMostBatchAxes] = {}, a_strides[kMostBatchAxes] = {},
          b_strides[kMostBatchAxes] = {};
};

template <typename A, typename B>
struct ByteOperands {
  const A* a;
  const B* b;
  PerLine<A> a_zeros;
  PerLine<B> b_zeros;
};

// Stores a sum as element `at` of the output. The lines count all of A's rows and B's columns.
struct StoreSum {
  int32_t* y;

  __device__ void operator()(int64_t, int64_t, int64_t at, uint32_t sum) const {
    y[at] = static_cast<int32_t>(sum);
  }
};

template <typename S>
struct StoreCode {
  PerLine<S> a_scales, b_scales;
  CodeOutput<S> output;

  __device__ void operator()(int64_t a_line, int64_t b_line, int64_t at, uint32_t sum) const {
    output.Store(at, sum, a_scales.At(a_line) * b_scales.At(b_line));
  }
};

// The blocks of batch z.
template <typename A, typename B, typename Store>
__global__ void MultiplyBytes(ByteOperands<A, B> o, Store store, ProductBox box) {
  int64_t a_begin = 0, b_begin = 0, rest = blockIdx.z;
  for (int axis = 0; axis < box.batch_axes; ++axis) {
    const int64_t above = rest / box.batch[axis], at = rest - above * box.batch[axis];
    a_begin += at * box.a_strides[axis];
    b_begin += at * box.b_strides[axis];
    rest = above;
  }
  const int64_t a_line = box.k == 0 ? 0 : a_begin / box.k;
  const int64_t b_line = box.k == 0 ? 0 : b_begin / box.k;
  MultiplyTile(
      box.m, box.n, box.k,
      [&](int64_t row, int64_t p) {
        return o.a[a_begin + row * box.k + p] - o.a_zeros.At(a_line + row);
      },
      [&](int64_t p, int64_t column) {
        return o.b[b_begin + p * box.n + column] - o.b_zeros.At(b_line + column);
      },
      [&](int64_t row, int64_t column, uint32_t sum) {
        store(a_line + row, b_line + column, (blockIdx.z * box.m + row) * box.n + column, sum);
      });
}

using LaunchProduct = absl::Status (*)(const RunContext& context, const ProductBox& box,
                                       dim3 blocks);

template <typename A, typename B>
absl::Status LaunchSums(const RunContext& context, const ProductBox& box, dim3 blocks) {
  const ByteOperands<A, B> operands = {context.in<A>(0), context.in<B>(1), PerLineOf<A>(context, 2),
                                       PerLineOf<B>(context, 3)};
  return Launch(MultiplyBytes<A, B, StoreSum>, blocks, dim3(kSide, kSide), 0, StreamOf(context),
                operands, StoreSum{context.out<int32_t>(0)}, box);
}

template <typename A, typename B, typename S>
absl::Status LaunchCodes(const RunContext& context, const ProductBox& box, dim3 blocks) {
  const ByteOperands<A, B> operands = {context.in<A>(0), context.in<B>(3), PerLineOf<A>(context, 2),
                                       PerLineOf<B>(context, 5)};
  const StoreCode<S> store = {PerLineOf<S>(context, 1),
                              PerLineOf<S>(context, 4),
                              {context.in<S>(6), context.input(7).data, context.output(0).data,
                               context.output(0).dtype == DType::kInt8}};
  return Launch(MultiplyBytes<A, B, StoreCode<S>>, blocks, dim3(kSide, kSide), 0, StreamOf(context),
                operands, store, box);
}

class ByteProduct : public Kernel {
 public:
  ByteProduct(absl::Status (*bind)(BindContext&), LaunchProduct launch)
      : bind_(bind), launch_(launch) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(bind_(context));
    const auto& product = *static_cast<const QuantizedProduct*>(context.state());
    if (product.batch.size() > kMostBatchAxes || product.batches > kMostBlocks ||
        product.m > kMostBlocks * kTile)
      return absl::UnimplementedError(
          "more batches or rows than the device's product of bytes takes; use --provider cpu");
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& product = context.state<QuantizedProduct>();
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    ProductBox box;
    box.m = product.m;
    box.n = product.n;
    box.k = product.k;
    box.batch_axes = static_cast<int>(product.batch.size());
    for (size_t i = 0; i < product.batch.size(); ++i) {
      const size_t axis = product.batch.size() - 1 - i;
      box.batch[i] = product.batch[axis];
      box.a_strides[i] = product.a_strides[axis];
      box.b_strides[i] = product.b_strides[axis];
    }
    return launch_(context, box,
                   dim3(Tiles(box.n), Tiles(box.m), static_cast<unsigned>(product.batches)));
  }

 private:
  absl::Status (*bind_)(BindContext&);
  LaunchProduct launch_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMulInteger(const NodeSpec& spec) {
  LaunchProduct launch = nullptr;
  ONWARD_RETURN_IF_ERROR(
      DispatchBytes(spec.input_dtype(0), spec.input_dtype(1), [&](auto a, auto b) {
        launch = LaunchSums<typename decltype(a)::type, typename decltype(b)::type>;
      }));
  return std::make_unique<ByteProduct>(BindMatMulInteger, launch);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeQLinearMatMul(const NodeSpec& spec) {
  const DType y = spec.input_dtype(7), scale = spec.input_dtype(1);
  if (!IsByte(y)) return NoLoopFor(y);
  for (const int i : {4, 6}) {
    if (spec.input_dtype(i) != scale) return absl::UnimplementedError("scales of several dtypes");
  }
  LaunchProduct launch = nullptr;
  ONWARD_RETURN_IF_ERROR(
      DispatchBytes(spec.input_dtype(0), spec.input_dtype(3), [&](auto a, auto b) {
        DispatchDType(TypeList<float, Float16, BFloat16>(), scale, [&](auto tag) {
          launch = LaunchCodes<typename decltype(a)::type, typename decltype(b)::type,
                               typename decltype(tag)::type>;
        });
      }));
  if (launch == nullptr) return NoLoopFor(scale);
  return std::make_unique<ByteProduct>(BindQLinearMatMul, launch);
}

constexpr KernelEntry kKernels[] = {
    {"", "MatMulInteger", "matmul_integer_cuda", MakeMatMulInteger},
    {"", "QLinearMatMul", "qlinear_matmul_cuda", MakeQLinearMatMul},
};

}  // namespace

KernelList QuantizedMatMulKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
