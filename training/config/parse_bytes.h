// Numbers of bytes as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onward {

// "2GiB", "500MB", "1e9"; "" is 0. InvalidArgument names `field`.
absl::StatusOr<int64_t> ParseBytes(std::string_view field, const std::string& text);

}  // namespace onward
