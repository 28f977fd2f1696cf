// QLinearAdd and QLinearMul of 8-bit integers, each with one scale and zero point.
#include <memory>

#include "graph/base/quantized_range.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/requantize.h"
#include "kernels/cpu/simd/quantize_loops.h"

namespace onward::kernels::cpu {
namespace {

// Inputs: a, its scale and zero point, b, its scale and zero point, the scale and zero point of y.
enum Input { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };

class QuantizedBinary : public Kernel {
 public:
  QuantizedBinary(const QuantizeLoops& loops, DType dtype, bool adds)
      : loops_(loops), dtype_(dtype), adds_(adds) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView shapes[2] = {context.input_dims(kA), context.input_dims(kB)};
    Dims dims;
    ONWARD_RETURN_IF_ERROR(
        BuildBroadcastLoop<2>(shapes, nullptr, &dims, context.NewState<BroadcastLoop<2>>()));
    context.SetOutput(0, dims);
    if (shapes[0] == DimsView(dims)) context.AllowInPlace(0, kA);
    if (shapes[1] == DimsView(dims)) context.AllowInPlace(0, kB);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto zero = [&](int i) { return LineValues<float>(OptionalInput(context, i))[0]; };
    const float a_scale = *context.in<float>(kAScale), b_scale = *context.in<float>(kBScale);
    const float y_scale = *context.in<float>(kYScale);
    QuantizedPair pair;
    pair.a_zero = static_cast<int32_t>(zero(kAZero));
    pair.b_zero = static_cast<int32_t>(zero(kBZero));
    pair.a_ratio = adds_ ? a_scale / y_scale : a_scale * b_scale / y_scale;
    pair.b_ratio = b_scale / y_scale;
    pair.zero = zero(kYZero);
    const QuantizedRange range = QuantizedRangeOf(dtype_);
    pair.low = static_cast<float>(range.low), pair.high = static_cast<float>(range.high);
    if (dtype_ == DType::kInt8) {
      RunLoop<int8_t>(context, adds_ ? loops_.add_int8 : loops_.mul_int8, pair);
    } else {
      RunLoop<uint8_t>(context, adds_ ? loops_.add_uint8 : loops_.mul_uint8, pair);
    }
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static void RunLoop(RunContext& context, QuantizedPairLoop<T> loop, const QuantizedPair& pair) {
    const T* a = context.in<T>(kA);
    const T* b = context.in<T>(kB);
    uint8_t* y = context.out<uint8_t>(0);
    ParallelTiles<2>(context, context.state<BroadcastLoop<2>>(), kCheapGrain,
                     [&](const BroadcastTile<2>& tile) {
                       for (int64_t row = 0; row < tile.rows; ++row) {
                         loop(a + tile.offset[0] + row * tile.row_stride[0], tile.column_stride[0],
                              b + tile.offset[1] + row * tile.row_stride[1], tile.column_stride[1],
                              tile.columns, pair, y + tile.out_offset + row * tile.columns);
                       }
                     });
  }

  const QuantizeLoops& loops_;
  DType dtype_;
  bool adds_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeQuantizedBinary(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(kA);
  if (dtype != DType::kInt8 && dtype != DType::kUint8)
    return absl::UnimplementedError("8-bit integers only");
  for (const int i : {kAScale, kAZero, kBScale, kBZero, kYScale, kYZero}) {
    if (!IsOneValue(spec, i)) return absl::UnimplementedError("one scale and zero point only");
  }
  return std::make_unique<QuantizedBinary>(kQuantizationPerTarget.For(TargetOf(spec))(), dtype,
                                           spec.node().op_type == "QLinearAdd");
}

constexpr KernelEntry kKernels[] = {
    {"com.microsoft", "QLinearAdd", "qlinear_add", MakeQuantizedBinary, kVectorTargets},
    {"com.microsoft", "QLinearMul", "qlinear_mul", MakeQuantizedBinary, kVectorTargets},
};

}  // namespace

KernelList QuantizedBinaryKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
