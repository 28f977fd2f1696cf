#include "kernels/bind/lrn.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::StatusOr<LrnParameters> LrnParameters::Parse(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  const LrnParameters result = {attributes.Int("size", 0), attributes.Float("alpha", 1e-4f),
                                attributes.Float("beta", 0.75f), attributes.Float("bias", 1.0f)};
  if (result.size <= 0)
    return absl::InvalidArgumentError(absl::StrCat("size is ", result.size, ", must be positive"));
  return result;
}

absl::StatusOr<int64_t> ParseNorm(const NodeSpec& spec) {
  const int64_t p = spec.attributes().Int("p", 2);
  if (p != 1 && p != 2)
    return absl::InvalidArgumentError(absl::StrCat("p is ", p, ", must be 1 or 2"));
  return p;
}

absl::Status BindColumns(BindContext& context, int64_t axis) {
  const DimsView dims = context.input_dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  auto* split = context.NewState<AxisSplit>();
  if (rank > 0 || axis != -1) {
    ONWARD_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
    *split = {NumElements(dims, 0, axis), dims[static_cast<size_t>(axis)],
              NumElements(dims, axis + 1, rank)};
  }
  context.SetOutput(0, dims);
  return absl::OkStatus();
}

}  // namespace onward::kernels
