#include "kernels/bind/trilu.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace onward::kernels {

absl::Status BindTrilu(BindContext& context) {
  const DimsView dims = context.input_dims(0);
  if (dims.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input has shape ", DimsString(dims), ", not that of matrices"));
  }
  if (context.has_input(1) && NumElements(context.input_dims(1)) != 1)
    return absl::InvalidArgumentError("k must have one element");
  context.SetOutput(0, dims);
  context.AllowInPlace(0, 0);
  return absl::OkStatus();
}

int64_t TriluDiagonal(const RunContext& context) {
  if (!context.has_input(1)) return 0;
  const DimsView dims = context.input(0).dims;
  return std::clamp<int64_t>(*context.in<int64_t>(1), -dims[dims.size() - 2] - 1, dims.back() + 1);
}

}  // namespace onward::kernels
