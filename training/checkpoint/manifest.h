// manifest.json: what a checkpoint has besides tensors, and the checksums of its files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onward::training {

struct Manifest {
  int64_t step = 0;
  std::optional<double> metric;
  std::map<std::string, std::string> values;
  int64_t size = 0;                         // of state.safetensors
  uint32_t crc32c = 0;                      // of state.safetensors
  std::map<std::string, uint32_t> tensors;  // CRC-32C of each one's bytes
};

// JSON that ends with its own checksum. InvalidArgument: text that is not UTF-8.
absl::StatusOr<std::string> ManifestText(const Manifest& manifest);
// DataLoss: not to the byte what ManifestText wrote.
absl::StatusOr<Manifest> ParseManifest(std::string_view text);

}  // namespace onward::training
