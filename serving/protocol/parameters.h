// The objects `parameters` of a request, its inputs and its requested outputs. Names that are not
// known are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "serving/protocol/infer_request.h"
#include "serving/protocol/json_members.h"

namespace onward::serving {

struct OutputParameters {
  std::optional<bool> binary_data;
  uint64_t classification = 0;
};

// All of them take the object that may have the member `parameters`; `where` is its name.
// InvalidArgument: a value of a wrong type, a name that is the server's own (triton_...), shared
// memory.
absl::Status ReadRequestParameters(JsonObject object, InferRequest& request);
// binary_data_size, if it is there.
absl::StatusOr<std::optional<uint64_t>> ReadInputParameters(JsonObject object,
                                                            const std::string& where);
absl::StatusOr<OutputParameters> ReadOutputParameters(JsonObject object, const std::string& where);

}  // namespace onward::serving
