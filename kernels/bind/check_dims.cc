#include "kernels/bind/check_dims.h"

#include "absl/strings/str_cat.h"

namespace onward::kernels {

absl::Status CheckDims(const char* name, DimsView dims, DimsView expected) {
  if (dims == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has shape ", DimsString(dims), ", expected ", DimsString(expected)));
}

}  // namespace onward::kernels
