#include "kernels/cpu/reference/quantize_plan.h"

#include "absl/strings/str_cat.h"

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

absl::Status CheckBlocked(DimsView dims, DimsView scale, int64_t axis, int64_t block) {
  bool fits = scale.size() == dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) {
    const int64_t expected =
        static_cast<int64_t>(i) == axis ? dims[i] / block + (dims[i] % block != 0) : dims[i];
    fits = scale[i] == expected;
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("scale has shape ", DimsString(scale),
                                                 ", which does not cover shape ", DimsString(dims),
                                                 " in blocks of ", block, " along axis ", axis));
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
  const DimsView dims = context.input_dims(0), scale = context.input_dims(1);
  const auto rank = static_cast<int64_t>(dims.size());
  auto* plan = context.NewState<QuantizePlan>();
  plan->num_scales = NumElements(scale);
  plan->inner = NumElements(dims);
  if (attributes.block < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("block_size is ", attributes.block, ", must not be negative"));
  }
  const bool per_tensor = plan->num_scales == 1 && scale.size() <= 1;
  if (!per_tensor) {
    ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(attributes.axis, rank));
    *plan = {NumElements(dims, 0, axis), dims[static_cast<size_t>(axis)],
             NumElements(dims, axis + 1, rank), attributes.block, plan->num_scales};
    if (attributes.block > 0) {
      ONWARD_RETURN_IF_ERROR(CheckBlocked(dims, scale, axis, attributes.block));
    } else if (scale.size() != 1 || scale[0] != plan->count) {
      return absl::InvalidArgumentError(absl::StrCat("scale has shape ", DimsString(scale),
                                                     ", must be a scalar or have the ", plan->count,
                                                     " elements of axis ", axis));
    }
  }
  if (context.has_input(2) && NumElements(context.input_dims(2)) != plan->num_scales) {
    return absl::InvalidArgumentError(absl::StrCat("zero point has shape ",
                                                   DimsString(context.input_dims(2)),
                                                   ", must be that of scale, ", DimsString(scale)));
  }
  context.SetOutput(0, dims);
  const int64_t packed_scales = plan->num_scales;  // bytes to unpack zero points into
  context.SetScratch(plan->num_scales * 8 + packed_scales +
                     (IsSubByte(quantized) ? NumElements(dims) : 0));
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
