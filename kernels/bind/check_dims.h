// The dims of an input against those that the others ask for.
#pragma once

#include "absl/status/status.h"
#include "onward/shape.h"

namespace onward::kernels {

// InvalidArgument, which names the input, where `dims` are not the expected ones.
absl::Status CheckDims(const char* name, DimsView dims, DimsView expected);

}  // namespace onward::kernels
