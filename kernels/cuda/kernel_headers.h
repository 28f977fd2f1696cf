// Headers that sources of kernels include when they are compiled at run time: copies that the build
// puts into the provider (cmake/kernel_headers.cmake).
#pragma once

#include <string_view>

#include "absl/types/span.h"

namespace onward::kernels::cuda {

struct KernelHeader {
  const char* name;  // as sources include it
  const char* text;
};
absl::Span<const KernelHeader> KernelHeaders();

// A digest of all names and texts.
std::string_view KernelHeadersDigest();

}  // namespace onward::kernels::cuda
