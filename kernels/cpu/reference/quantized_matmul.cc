// MatMulInteger and QLinearMatMul. Zero points of A are per tensor or per row, those of B per
// tensor or per column; so are the scales.
#include "kernels/bind/quantized_matmul.h"

#include "kernels/bind/matmul.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/quantize_plan.h"
#include "kernels/cpu/reference/requantize.h"
#include "kernels/cpu/reference/tiled_product.h"

namespace onward::kernels::cpu {
namespace {

// Sums of (a - zero) * (b - zero), handed out row by row: store(a_line, b_line, to, columns, sums),
// where a_line is the row among all of A's, b_line the first column among all of B's.
template <typename Acc, typename Store>
void Product(RunContext& context, const QuantizedProduct& s, const TensorView& b,
             const TensorView& a_zero, const TensorView& b_zero, const Store& store) {
  const TensorView& a = context.input(0);
  const LineValues<Acc> a_zeros(a_zero), b_zeros(b_zero);
  const auto a_line = [&](int64_t batch) {
    return s.k == 0 ? 0 : BatchOffset(s.batch, s.a_strides, batch) / s.k;
  };
  const auto b_line = [&](int64_t batch) {
    return s.k == 0 ? 0 : BatchOffset(s.batch, s.b_strides, batch) / s.k;
  };
  TiledProduct<Acc>(
      context, s.batches, s.m, s.n, s.k,
      [&](int64_t batch, int64_t row, int64_t rows, int64_t p, int64_t depth, Acc* to) {
        const int64_t offset = BatchOffset(s.batch, s.a_strides, batch);
        for (int64_t i = 0; i < rows; ++i, to += kTileDepth) {
          LoadShifted(a, offset + (row + i) * s.k + p, depth, a_zeros[a_line(batch) + row + i], to);
        }
      },
      [&](int64_t batch, int64_t p, int64_t depth, int64_t column, int64_t columns, Acc* to) {
        const int64_t offset = BatchOffset(s.batch, s.b_strides, batch);
        for (int64_t q = 0; q < depth; ++q, to += kTileColumns) {
          LoadShifted(b, offset + (p + q) * s.n + column, columns, Acc(0), to);
          for (int64_t j = 0; j < columns; ++j) to[j] -= b_zeros[b_line(batch) + column + j];
        }
      },
      [&](int64_t batch, int64_t row, int64_t column, int64_t columns, const Acc* sums) {
        store(a_line(batch) + row, b_line(batch) + column, (batch * s.m + row) * s.n + column,
              columns, sums);
      });
}

class MatMulInteger : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override { return BindMatMulInteger(context); }
  absl::Status Run(RunContext& context) const override {
    int32_t* y = context.out<int32_t>(0);
    Product<uint32_t>(context, context.state<QuantizedProduct>(), context.input(1),
                      OptionalInput(context, 2), OptionalInput(context, 3),
                      [&](int64_t, int64_t, int64_t to, int64_t columns, const uint32_t* sums) {
                        for (int64_t j = 0; j < columns; ++j)
                          y[to + j] = static_cast<int32_t>(sums[j]);
                      });
    return absl::OkStatus();
  }
};

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; }

absl::StatusOr<std::unique_ptr<Kernel>> MakeMatMulInteger(const NodeSpec& spec) {
  for (int i : {0, 1}) {
    if (!IsByte(spec.input_dtype(i))) return NoLoopFor(spec.input_dtype(i));
  }
  return std::make_unique<MatMulInteger>();
}

// Inputs: a, its scale and zero point, the same of b, the same of y.
class QLinearMatMul : public Kernel {
 public:
  explicit QLinearMatMul(bool integers) : integers_(integers) {}

  absl::Status Bind(BindContext& context) const override { return BindQLinearMatMul(context); }
  absl::Status Run(RunContext& context) const override {
    if (integers_) {
      RunProduct<uint32_t>(context);
    } else {
      RunProduct<float>(context);
    }
    return absl::OkStatus();
  }

 private:
  template <typename Acc>
  void RunProduct(RunContext& context) const {
    const LineValues<float> a_scales(context.input(1)), b_scales(context.input(4));
    const float y_scale = LineValues<float>(context.input(6))[0];
    const Requantizer to_output(context.output(0), context.input(7));
    Product<Acc>(context, context.state<QuantizedProduct>(), context.input(3), context.input(2),
                 context.input(5),
                 [&](int64_t a_line, int64_t b_line, int64_t to, int64_t columns, const Acc* sums) {
                   for (int64_t j = 0; j < columns; ++j) {
                     const float scale = a_scales[a_line] * b_scales[b_line + j] / y_scale;
                     to_output.Store(to + j, AsSigned(sums[j]), scale);
                   }
                 });
  }

  bool integers_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeQLinearMatMul(const NodeSpec& spec) {
  const bool integers = IsByte(spec.input_dtype(0));
  for (int i : {0, 3, 7}) {
    const DType dtype = spec.input_dtype(i);
    const bool float8 = IsFloating(dtype) && BitSize(dtype) == 8 && dtype != DType::kFloat8E8M0;
    if (!IsByte(dtype) && !float8) return NoLoopFor(dtype);
    if (i == 3 && IsByte(dtype) != integers)
      return absl::UnimplementedError("a product of an integer and a float8 matrix");
  }
  return std::make_unique<QLinearMatMul>(integers);
}

constexpr KernelEntry kKernels[] = {
    {"", "MatMulInteger", "matmul_integer_reference", MakeMatMulInteger},
    {"", "QLinearMatMul", "qlinear_matmul_reference", MakeQLinearMatMul},
};

}  // namespace

KernelList ReferenceQuantizedMatMul() { return kKernels; }

}  // namespace onward::kernels::cpu
