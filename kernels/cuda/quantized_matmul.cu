// MatMulInteger: sums of products of bytes without their zero points, in 32 bits that wrap.
#include <utility>

#include "kernels/bind/quantized_matmul.h"
#include "kernels/cuda/kernel_list.h"
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

// A value for all lines, or one for each: of all batches or of each batch again.
template <typename T>
struct ZeroPoints {
  const T* values;  // null: they are 0
  int64_t count;

  __device__ int At(int64_t line) const { return values == nullptr ? 0 : values[line % count]; }
};

template <typename A, typename B>
struct ByteOperands {
  const A* a;
  const B* b;
  ZeroPoints<A> a_zeros;
  ZeroPoints<B> b_zeros;
  int32_t* y;
};

constexpr int kTile = 64, kDepth = 16, kSide = 16;  // threads of a block: kSide x kSide
constexpr int kOwn = kTile / kSide;                 // rows and columns of a thread

// Block (x, y, z): columns from x * kTile on, rows from y * kTile on, batch z. Each thread has
// every kSide-th row and column of the tile.
template <typename A, typename B>
__global__ void MultiplyBytes(ByteOperands<A, B> o, ProductBox box) {
  __shared__ int a_tile[kDepth][kTile], b_tile[kDepth][kTile];
  int64_t a_begin = 0, b_begin = 0, rest = blockIdx.z;
  for (int axis = 0; axis < box.batch_axes; ++axis) {
    const int64_t above = rest / box.batch[axis], at = rest - above * box.batch[axis];
    a_begin += at * box.a_strides[axis];
    b_begin += at * box.b_strides[axis];
    rest = above;
  }
  const int64_t a_line = a_begin / box.k, b_line = b_begin / box.k;
  const int64_t row = static_cast<int64_t>(blockIdx.y) * kTile;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kTile;
  const int thread = static_cast<int>(threadIdx.y * kSide + threadIdx.x);
  uint32_t sums[kOwn][kOwn] = {};
  for (int64_t p = 0; p < box.k; p += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += kSide * kSide) {
      const int line = i / kDepth, depth = i % kDepth;  // neighbours of A lie along k
      const bool in_a = row + line < box.m && p + depth < box.k;
      a_tile[depth][line] =
          in_a ? o.a[a_begin + (row + line) * box.k + p + depth] - o.a_zeros.At(a_line + row + line)
               : 0;
      const int b_depth = i / kTile, b_column = i % kTile;
      const bool in_b = column + b_column < box.n && p + b_depth < box.k;
      b_tile[b_depth][b_column] = in_b ? o.b[b_begin + (p + b_depth) * box.n + column + b_column] -
                                             o.b_zeros.At(b_line + column + b_column)
                                       : 0;
    }
    __syncthreads();
    for (int depth = 0; depth < kDepth; ++depth) {
      for (int i = 0; i < kOwn; ++i) {
        for (int j = 0; j < kOwn; ++j) {
          sums[i][j] +=
              static_cast<uint32_t>(a_tile[depth][threadIdx.y + static_cast<unsigned>(i) * kSide] *
                                    b_tile[depth][threadIdx.x + static_cast<unsigned>(j) * kSide]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kOwn; ++i) {
    for (int j = 0; j < kOwn; ++j) {
      const int64_t r = row + threadIdx.y + static_cast<int64_t>(i) * kSide;
      const int64_t c = column + threadIdx.x + static_cast<int64_t>(j) * kSide;
      if (r < box.m && c < box.n)
        o.y[(blockIdx.z * box.m + r) * box.n + c] = static_cast<int32_t>(sums[i][j]);
    }
  }
}

template <typename T>
ZeroPoints<T> ZeroPointsOf(const RunContext& context, int input) {
  if (!context.has_input(input)) return {nullptr, 1};
  return {context.in<T>(input), context.input(input).num_elements()};
}

using LaunchProduct = absl::Status (*)(const RunContext& context, const ProductBox& box,
                                       dim3 blocks);

template <typename A, typename B>
absl::Status LaunchMultiply(const RunContext& context, const ProductBox& box, dim3 blocks) {
  const ByteOperands<A, B> operands = {context.in<A>(0), context.in<B>(1),
                                       ZeroPointsOf<A>(context, 2), ZeroPointsOf<B>(context, 3),
                                       context.out<int32_t>(0)};
  return Launch(MultiplyBytes<A, B>, blocks, dim3(kSide, kSide), 0, StreamOf(context), operands,
                box);
}

class MatMulInteger : public Kernel {
 public:
  explicit MatMulInteger(LaunchProduct launch) : launch_(launch) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindMatMulInteger(context));
    const auto& product = *static_cast<const QuantizedProduct*>(context.state());
    constexpr int64_t kMostBlocks = 65535;  // along y and z
    if (product.batch.size() > kMostBatchAxes || product.batches > kMostBlocks ||
        product.m > kMostBlocks * kTile)
      return absl::UnimplementedError(
          "more batches or rows than the device's MatMulInteger takes; use --provider cpu");
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& product = context.state<QuantizedProduct>();
    const TensorView& y = context.output(0);
    if (y.num_elements() == 0) return absl::OkStatus();
    if (product.k == 0)
      return ToStatus(
          cudaMemsetAsync(y.data, 0, static_cast<size_t>(y.byte_size()), StreamOf(context)));
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
    const auto tiles = [](int64_t lines) {
      return static_cast<unsigned>((lines + kTile - 1) / kTile);
    };
    return launch_(context, box,
                   dim3(tiles(box.n), tiles(box.m), static_cast<unsigned>(product.batches)));
  }

 private:
  LaunchProduct launch_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMulInteger(const NodeSpec& spec) {
  const auto is_byte = [](DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; };
  const DType a = spec.input_dtype(0), b = spec.input_dtype(1);
  if (!is_byte(a)) return NoLoopFor(a);
  if (!is_byte(b)) return NoLoopFor(b);
  const bool signed_a = a == DType::kInt8, signed_b = b == DType::kInt8;
  return std::make_unique<MatMulInteger>(
      signed_a ? (signed_b ? LaunchMultiply<int8_t, int8_t> : LaunchMultiply<int8_t, uint8_t>)
               : (signed_b ? LaunchMultiply<uint8_t, int8_t> : LaunchMultiply<uint8_t, uint8_t>));
}

constexpr KernelEntry kKernels[] = {
    {"", "MatMulInteger", "matmul_integer_cuda", MakeMatMulInteger}};

}  // namespace

KernelList QuantizedMatMulKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
