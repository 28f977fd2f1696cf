#include "kernels/bind/cast.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace onward::kernels {

absl::StatusOr<DType> CastTarget(const NodeSpec& spec) {
  const int64_t to = spec.attributes().Int("to", 0);
  if (to <= 0 || to >= kNumDTypes)
    return absl::InvalidArgumentError(absl::StrCat("to is ", to, ", which is not an element type"));
  return static_cast<DType>(to);
}

absl::Status CheckBitCast(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const DType to, CastTarget(spec));
  const DType from = spec.input_dtype(0);
  if (from == DType::kString || to == DType::kString || BitSize(from) != BitSize(to)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot reinterpret ", std::string(DTypeName(from)), " as ", std::string(DTypeName(to))));
  }
  return absl::OkStatus();
}

absl::Status BindSameBits(BindContext& context) {
  context.SetOutput(0, context.input_dims(0));
  context.AliasOutput(0, 0);
  return absl::OkStatus();
}

}  // namespace onward::kernels
