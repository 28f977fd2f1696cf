#include "kernels/cpu/reference/quantize_plan.h"

namespace onward::kernels::cpu {
namespace {

using LoadTypes = Concat<Concat<FloatTypes, Float8Types>,
                         TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t>>;

template <typename To>
void Load(const TensorView& view, int64_t begin, int64_t count, To* out) {
  DispatchDType(LoadTypes(), view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = view.as<const T>() + begin;
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        out[i] = static_cast<To>(from[i]);
      } else {
        out[i] = static_cast<To>(static_cast<float>(from[i]));
      }
    }
  });
}

}  // namespace

bool CanLoad(DType dtype) {
  return IsSubByte(dtype) || DispatchDType(LoadTypes(), dtype, [](auto) {});
}

void LoadDoubles(const TensorView& view, int64_t begin, int64_t count, double* out) {
  Load(view, begin, count, out);
}

void LoadUnpacked(const TensorView& view, int64_t begin, int64_t count, float* out) {
  if (!IsSubByte(view.dtype)) return Load(view, begin, count, out);
  const int8_t* from = view.as<const int8_t>() + begin;
  const bool coded = DispatchDType(PackedFloatTypes(), view.dtype, [&](auto tag) {
    typename decltype(tag)::type value;
    for (int64_t i = 0; i < count; ++i) {
      value.bits = static_cast<uint8_t>(from[i]);
      out[i] = static_cast<float>(value);
    }
  });
  if (coded) return;
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(from[i]);
}

absl::Status BindQuantization(BindContext& context, const QuantizeAttributes& attributes,
                              DType quantized) {
  ONWARD_ASSIGN_OR_RETURN(const QuantizePlan* plan, BindQuantize(context, attributes));
  const int64_t packed_scales = plan->num_scales;  // bytes to unpack zero points into
  context.SetScratch(plan->num_scales * 8 + packed_scales +
                     (IsSubByte(quantized) ? NumElements(context.input_dims(0)) : 0));
  return absl::OkStatus();
}

QuantizeScratch PrepareScales(const RunContext& context, const QuantizePlan& plan) {
  QuantizeScratch scratch;
  scratch.scales = context.scratch<float>();
  scratch.zeros = scratch.scales + plan.num_scales;
  auto* bytes = reinterpret_cast<int8_t*>(scratch.zeros + plan.num_scales);
  scratch.unpacked = bytes + plan.num_scales;
  LoadUnpacked(context.input(1), 0, plan.num_scales, scratch.scales);
  if (!context.has_input(2)) {
    std::fill(scratch.zeros, scratch.zeros + plan.num_scales, 0.0f);
    return scratch;
  }
  TensorView zeros = context.input(2);
  if (IsSubByte(zeros.dtype)) {
    UnpackSubByte(zeros.dtype, zeros.data, plan.num_scales, bytes);
    zeros.data = bytes;
  }
  LoadUnpacked(zeros, 0, plan.num_scales, scratch.zeros);
  return scratch;
}

}  // namespace onward::kernels::cpu
