// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear between float32 and 8-bit integers,
// with one scale or one per index of an axis.
#include <algorithm>
#include <cmath>

#include "graph/base/quantized_range.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/quantize_plan.h"
#include "kernels/cpu/reference/requantize.h"
#include "kernels/cpu/simd/quantize_loops.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 32 * 1024;  // elements

const QuantizeLoops& LoopsOf(Target target) { return kQuantizationPerTarget.For(target)(); }

// Calls body(first, count, scale index) for runs of elements that share a scale.
template <typename Body>
void ForEachRun(const RunContext& context, const QuantizePlan& plan, const Body& body) {
  if (plan.num_scales == 1) {
    context.ParallelFor(plan.outer * plan.count * plan.inner, kGrain,
                        [&](int64_t begin, int64_t end) { body(begin, end - begin, 0); });
    return;
  }
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, plan.inner));
  context.ParallelFor(plan.outer * plan.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i * plan.inner, plan.inner, i % plan.count);
  });
}

class Linear : public Kernel {
 public:
  Linear(const QuantizeLoops& loops, QuantizeAttributes attributes, DType quantized, bool quantizes)
      : loops_(loops), attributes_(attributes), dtype_(quantized), quantizes_(quantizes) {}

  absl::Status Bind(BindContext& context) const override {
    return BindQuantization(context, attributes_, dtype_);
  }

  absl::Status Run(RunContext& context) const override {
    const float* scales = context.in<float>(1);
    const LineValues<float> zeros(OptionalInput(context, 2));
    const QuantizedRange range = QuantizedRangeOf(dtype_);
    const auto low = static_cast<float>(range.low), high = static_cast<float>(range.high);
    ForEachRun(context, context.state<QuantizePlan>(),
               [&](int64_t first, int64_t count, int64_t line) {
                 const float scale = scales[line], zero = zeros[line];
                 if (quantizes_) {
                   loops_.quantize(context.in<float>(0) + first, count, scale, zero, low, high,
                                   context.out<uint8_t>(0) + first);
                 } else if (dtype_ == DType::kInt8) {
                   loops_.dequantize_int8(context.in<int8_t>(0) + first, count, scale, zero,
                                          context.out<float>(0) + first);
                 } else {
                   loops_.dequantize_uint8(context.in<uint8_t>(0) + first, count, scale, zero,
                                           context.out<float>(0) + first);
                 }
               });
    return absl::OkStatus();
  }

 private:
  const QuantizeLoops& loops_;
  QuantizeAttributes attributes_;
  DType dtype_;
  bool quantizes_;
};

class Dynamic : public Kernel {
 public:
  explicit Dynamic(const QuantizeLoops& loops) : loops_(loops) {}

  absl::Status Bind(BindContext& context) const override {
    BindDynamicQuantize(context);
    const int64_t pieces = CeilDiv(NumElements(context.input_dims(0)), kGrain);
    context.SetScratch(2 * pieces * static_cast<int64_t>(sizeof(float)));
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const float* x = context.in<float>(0);
    const int64_t count = context.input(0).num_elements();
    float* ranges = context.scratch<float>();
    context.ParallelFor(CeilDiv(count, kGrain), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        loops_.range(x + i * kGrain, std::min(kGrain, count - i * kGrain), ranges + 2 * i,
                     ranges + 2 * i + 1);
      }
    });
    float low = 0, high = 0;
    for (int64_t i = 0; i < CeilDiv(count, kGrain); ++i) {
      low = std::min(low, ranges[2 * i]);
      high = std::max(high, ranges[2 * i + 1]);
    }
    const float scale = (high == low ? 1.0f : high - low) / 255.0f;
    const float zero = std::nearbyint(std::min(255.0f, std::max(0.0f, -low / scale)));
    *context.out<float>(1) = scale;
    *context.out<uint8_t>(2) = static_cast<uint8_t>(zero);
    uint8_t* y = context.out<uint8_t>(0);
    context.ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      loops_.quantize(x + begin, end - begin, scale, zero, 0, 255, y + begin);
    });
    return absl::OkStatus();
  }

 private:
  const QuantizeLoops& loops_;
};

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; }

absl::StatusOr<std::unique_ptr<Kernel>> MakeLinear(const NodeSpec& spec) {
  const bool quantizes = spec.node().op_type == "QuantizeLinear";
  const DType from = spec.input_dtype(0), to = spec.output_dtype(0);
  const DType quantized = quantizes ? to : from, real = quantizes ? from : to;
  if (!IsByte(quantized) || real != DType::kFloat32 || spec.input_dtype(1) != DType::kFloat32)
    return absl::UnimplementedError("float32 and 8-bit integers only");
  const auto precision = static_cast<DType>(spec.attributes().Int("precision", 0));
  if (precision != DType::kUndefined && precision != DType::kFloat32)
    return absl::UnimplementedError("divides in float32 only");
  if (spec.has_input(2) && spec.input_dtype(2) != quantized)
    return absl::UnimplementedError("a zero point of another dtype");
  if (spec.attributes().Int("block_size", 0) != 0)
    return absl::UnimplementedError("scales of blocks");
  return std::make_unique<Linear>(LoopsOf(TargetOf(spec)), QuantizeAttributes(spec), quantized,
                                  quantizes);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDynamic(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  return std::make_unique<Dynamic>(LoopsOf(TargetOf(spec)));
}

constexpr KernelEntry kKernels[] = {
    {"", "DequantizeLinear", "dequantize_linear", MakeLinear, kVectorTargets},
    {"", "DynamicQuantizeLinear", "dynamic_quantize_linear", MakeDynamic, kVectorTargets},
    {"", "QuantizeLinear", "quantize_linear", MakeLinear, kVectorTargets},
};

}  // namespace

KernelList QuantizeKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
