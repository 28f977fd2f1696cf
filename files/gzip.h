// Files that may be compressed by gzip.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace onward::files {

// The whole file, decompressed when it begins as gzip's files do. NotFound, ...; DataLoss names the
// file when the compressed data is damaged or gives more than `max_bytes`.
absl::StatusOr<std::string> ReadMaybeGzip(const std::string& path, int64_t max_bytes);

}  // namespace onward::files
