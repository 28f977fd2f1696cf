// CRC-32C (Castagnoli), the checksum of RFC 3720, for files.
#pragma once

#include <cstdint>
#include <string_view>

namespace onward {

// The checksum of `bytes` behind others whose checksum is `crc`: Crc32c("123456789") is 0xe3069283.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

}  // namespace onward
