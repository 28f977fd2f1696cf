// The JSON header of a safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/dtype.h"
#include "onward/shape.h"

namespace onward::files {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kUndefined;
  Dims dims;
  int64_t begin = 0, end = 0;  // bytes after the header
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // by position in the file
  std::map<std::string, std::string> metadata;
};

// "F32"; empty when the format has no such type.
std::string_view SafetensorsName(DType dtype);
// Position among the format's types, which are by increasing alignment; -1 when it has none.
int SafetensorsOrder(DType dtype);

// Checks everything against the `size` bytes that follow the header.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, int64_t size);

}  // namespace onward::files
