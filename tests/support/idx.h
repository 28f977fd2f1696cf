// Files of the MNIST family, as bytes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace onward::testing {

// `type`: 8 for bytes.
inline std::string Idx(std::initializer_list<uint32_t> dims, const std::string& data,
                       char type = 8) {
  std::string bytes = {0, 0, type, static_cast<char>(dims.size())};
  for (const uint32_t dim : dims)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(dim >> shift);
  return bytes + data;
}

}  // namespace onward::testing
