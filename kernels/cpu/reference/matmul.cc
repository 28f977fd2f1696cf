// MatMul and Gemm for every dtype.
#include "kernels/bind/matmul.h"

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {
namespace {

struct MatMulState {
  int64_t m, n, k, batches;
  absl::Span<int64_t> batch, a_strides, b_strides;
};

template <typename T>
class MatMul : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const MatMulGeometry g,
                            MatMulDims(context.input_dims(0), context.input_dims(1)));
    context.SetOutput(0, g.output);
    auto* state = context.NewState<MatMulState>();
    *state = {g.m,
              g.n,
              g.k,
              g.num_batches(),
              context.Keep<int64_t>(g.batch),
              context.Keep<int64_t>(g.a_strides),
              context.Keep<int64_t>(g.b_strides)};
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    using Acc = Accumulator<T>;
    const auto& s = context.state<MatMulState>();
    const T* a = context.in<T>(0);
    const T* b = context.in<T>(1);
    T* y = context.out<T>(0);
    TiledProduct<Acc>(
        context, s.batches, s.m, s.n, s.k,
        [&](int64_t batch, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* to) {
          const T* from = a + BatchOffset(s.batch, s.a_strides, batch) + row * s.k + p;
          PackRows(from, s.k, 1, rows, depth, kTileDepth, to);
        },
        [&](int64_t batch, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
          const T* from = b + BatchOffset(s.batch, s.b_strides, batch) + p * s.n + column;
          PackRows(from, s.n, 1, depth, columns, kTileColumns, to);
        },
        [&](int64_t batch, int64_t row, int64_t column, int64_t columns, const Acc* sums) {
          T* to = y + (batch * s.m + row) * s.n + column;
          for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<T>(sums[j]);
        });
    return absl::OkStatus();
  }
};

// alpha and beta are floats: for integers the scaled value is truncated, as a cast does.
template <typename T>
T Scaled(Accumulator<T> product, float alpha, const T* c, float beta) {
  if constexpr (std::is_integral_v<T>) {
    if (alpha == 1.0f && beta == 1.0f) {
      using U = Accumulator<T>;
      return static_cast<T>(product + (c == nullptr ? U(0) : static_cast<U>(*c)));
    }
    double value = static_cast<double>(alpha) * static_cast<double>(static_cast<T>(product));
    if (c != nullptr) value += static_cast<double>(beta) * static_cast<double>(*c);
    constexpr double kLeast = static_cast<double>(std::numeric_limits<T>::min());
    constexpr double kMost = static_cast<double>(std::numeric_limits<T>::max());
    if (!(value > kLeast)) return std::numeric_limits<T>::min();
    return value >= kMost ? std::numeric_limits<T>::max() : static_cast<T>(value);
  } else {
    using Acc = Accumulator<T>;
    Acc value = static_cast<Acc>(alpha) * product;
    if (c != nullptr) value += static_cast<Acc>(beta) * static_cast<Acc>(*c);
    return static_cast<T>(value);
  }
}

template <typename T>
class Gemm : public Kernel {
 public:
  explicit Gemm(const GemmAttributes& attributes) : attributes_(attributes) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const GemmGeometry g, GemmDims(attributes_, context));
    context.SetOutput(0, {g.m, g.n});
    *context.NewState<GemmGeometry>() = g;
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    using Acc = Accumulator<T>;
    const auto& g = context.state<GemmGeometry>();
    const T* a = context.in<T>(0);
    const T* b = context.in<T>(1);
    const T* c = context.has_input(2) ? context.in<T>(2) : nullptr;
    T* y = context.out<T>(0);
    const int64_t a_row = attributes_.trans_a ? 1 : g.k, a_column = attributes_.trans_a ? g.m : 1;
    const int64_t b_row = attributes_.trans_b ? 1 : g.n, b_column = attributes_.trans_b ? g.k : 1;
    TiledProduct<Acc>(
        context, 1, g.m, g.n, g.k,
        [&](int64_t, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* to) {
          PackRows(a + row * a_row + p * a_column, a_row, a_column, rows, depth, kTileDepth, to);
        },
        [&](int64_t, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
          PackRows(b + p * b_row + column * b_column, b_row, b_column, depth, columns, kTileColumns,
                   to);
        },
        [&](int64_t, int64_t row, int64_t column, int64_t columns, const Acc* sums) {
          T* to = y + row * g.n + column;
          for (int64_t j = 0; j < columns; ++j) {
            const T* from = c == nullptr
                                ? nullptr
                                : c + row * g.c_row_stride + (column + j) * g.c_column_stride;
            to[j] = Scaled<T>(sums[j], attributes_.alpha, from, attributes_.beta);
          }
        });
    return absl::OkStatus();
  }

 private:
  GemmAttributes attributes_;
};

using ProductTypes = Concat<FloatTypes, TypeList<uint32_t, uint64_t, int32_t, int64_t>>;

absl::StatusOr<std::unique_ptr<Kernel>> UnsupportedType(const NodeSpec& spec) {
  return absl::UnimplementedError(
      absl::StrCat("dtype ", std::string(DTypeName(spec.input_dtype(0)))));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMul(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  DispatchDType(ProductTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<MatMul<typename decltype(tag)::type>>();
  });
  if (kernel == nullptr) return UnsupportedType(spec);
  return kernel;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGemm(const NodeSpec& spec) {
  const GemmAttributes attributes = GemmAttributes::Parse(spec);
  std::unique_ptr<Kernel> kernel;
  DispatchDType(ProductTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<Gemm<typename decltype(tag)::type>>(attributes);
  });
  if (kernel == nullptr) return UnsupportedType(spec);
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "MatMul", "matmul_reference", MakeMatMul},
    {"", "Gemm", "gemm_reference", MakeGemm},
};

}  // namespace

KernelList ReferenceMatMul() { return kKernels; }

}  // namespace onward::kernels::cpu
