#include "kernels/bind/quantize.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"
#include "onward/status.h"

namespace onward::kernels {
namespace {

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

absl::StatusOr<const QuantizePlan*> BindQuantize(BindContext& context,
                                                 const QuantizeAttributes& attributes) {
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
  return plan;
}

void BindDynamicQuantize(BindContext& context) {
  context.SetOutput(0, context.input_dims(0));
  context.SetOutput(1, {});
  context.SetOutput(2, {});
}

}  // namespace onward::kernels
