// The JSON of an inference's reply (Open Inference Protocol v2, section "Inference").
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/tensor.h"

namespace onward::serving {

struct InferReply {
  std::string model, version;
  std::optional<std::string> id = std::nullopt;
  std::vector<std::pair<std::string, Tensor>> outputs = {};
};

// Floats as the shortest decimals that read back the same; NaN and infinities as NaN, Infinity and
// -Infinity. FailedPrecondition: text that is not UTF-8, which JSON cannot carry.
absl::StatusOr<std::string> WriteInferReply(const InferReply& reply);

}  // namespace onward::serving
