// Archives by tar: the ustar format with GNU's and pax's long names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onward::files {

struct TarEntry {
  std::string path;  // without a leading "./"
  size_t offset = 0, size = 0;
};

// The regular files of an archive, in its order. DataLoss names the byte where it is damaged or
// ends early.
absl::StatusOr<std::vector<TarEntry>> ListTar(std::string_view bytes);

}  // namespace onward::files
