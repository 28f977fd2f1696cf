// A tensor's elements as JSON.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "onward/tensor.h"
#include "serving/protocol/json_members.h"

namespace onward::serving {

// Writes `data`, flat or nested in any way, into `tensor`, which has a datatype of the protocol.
// InvalidArgument: more or fewer elements, or one that the datatype cannot hold.
absl::Status ReadJsonData(JsonElement data, const std::string& where, Tensor& tensor);

}  // namespace onward::serving
