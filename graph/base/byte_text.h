// Numbers of bytes as people read and write them, everywhere alike: MB is 10^6 bytes, MiB is 2^20.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onward {

// "500MB" is 500 * 10^6, "2GiB" is 2 * 2^30, "1e9" are bytes; k, M, G and T may stand alone, in
// either case, after a space too. "" is 0. InvalidArgument names `field`.
absl::StatusOr<int64_t> ParseBytes(std::string_view field, std::string_view text);

// "640 bytes", "12.5 kB", "3.2 MB", "1.74 GB".
std::string BytesText(int64_t bytes);

}  // namespace onward
