#include "kernels/bind/group_normalization.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::StatusOr<GroupAttributes> ParseGroups(const NodeSpec& spec, bool per_channel) {
  GroupAttributes attributes;
  attributes.epsilon = spec.attributes().Float("epsilon", attributes.epsilon);
  if (per_channel) return attributes;
  attributes.groups = spec.attributes().Int("num_groups", 0);
  if (attributes.groups > 0) return attributes;
  return absl::InvalidArgumentError(
      absl::StrCat("num_groups is ", attributes.groups, ", must be positive"));
}

absl::StatusOr<GroupSizes> BindGroupNormalization(BindContext& context,
                                                  const GroupAttributes& attributes,
                                                  const SeveralValues& several) {
  const DimsView dims = context.input_dims(0);
  if (dims.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input has rank ", dims.size(), ", needs a batch and a channel axis"));
  }
  ONWARD_RETURN_IF_ERROR(several.Check(dims));
  const int64_t channels = dims[1], groups = attributes.groups == 0 ? channels : attributes.groups;
  if (groups > 0 && channels % groups != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(channels, " channels do not divide into ", groups, " groups"));
  }
  for (int i : {1, 2}) {
    if (NumElements(context.input_dims(i)) == channels) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(i == 1 ? "scale" : "bias", " has shape ", DimsString(context.input_dims(i)),
                     ", must have one element for each of ", channels, " channels"));
  }
  context.SetOutput(0, dims);
  context.AllowInPlace(0, 0);
  return GroupSizes{dims[0] * groups, groups, groups == 0 ? 0 : channels / groups,
                    NumElements(dims.subspan(2))};
}

}  // namespace onward::kernels
