// The JSON of an inference request (Open Inference Protocol v2, section "Inference").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"

namespace onward::serving {

struct InferRequest {
  std::optional<std::string> id;     // echoed in the reply
  Session::Inputs inputs;            // not yet compared with the model's
  std::vector<std::string> outputs;  // those asked for, in their order; none: all
};

// Members that are not known are ignored. `data` is flat or nested in any way, as long as it has
// the elements that `shape` asks for; integers must be whole and in range; NaN, Infinity and
// -Infinity may stand for floats. InvalidArgument names the member: "inputs[0].shape: ...". Takes
// no more memory than in proportion to the body.
absl::StatusOr<InferRequest> ReadInferRequest(std::string_view body);

}  // namespace onward::serving
