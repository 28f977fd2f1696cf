#include "kernels/bind/binary.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindBinary(BindContext& context, const BinaryRules& rules) {
  const DimsView shapes[2] = {context.input_dims(0), context.input_dims(1)};
  auto* loop = context.NewState<BroadcastLoop<2>>();
  Dims dims;
  if (rules.equal && shapes[0] != shapes[1]) {
    return absl::InvalidArgumentError(absl::StrCat("shapes ", DimsString(shapes[0]), " and ",
                                                   DimsString(shapes[1]), " must be equal"));
  }
  ONWARD_RETURN_IF_ERROR(
      BuildBroadcastLoop<2>(shapes, rules.to_first ? &shapes[0] : nullptr, &dims, loop));
  context.SetOutput(0, dims);
  for (int i = 0; i < 2 && rules.same_size; ++i) {
    if (shapes[i] == DimsView(dims)) context.AllowInPlace(0, i);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ShiftsLeft(const NodeSpec& spec) {
  const std::string direction = spec.attributes().String("direction");
  if (direction == "LEFT" || direction == "RIGHT") return direction == "LEFT";
  return absl::InvalidArgumentError("direction is '" + direction + "', not 'LEFT' or 'RIGHT'");
}

}  // namespace onward::kernels
