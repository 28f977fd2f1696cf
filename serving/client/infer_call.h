// The requests that a client sends to a server of the Open Inference Protocol v2, and the parsing
// of the replies.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/session.h"
#include "serving/client/http_client.h"

namespace onward::serving {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// "/v2/models/NAME", with "/versions/N" where a version is named.
std::string ModelPath(std::string_view model, std::string_view version);

// The inputs of a model by its metadata; dims of -1 are unknown. InvalidArgument: it is not
// metadata as the protocol has it.
absl::StatusOr<std::vector<ValueInfo>> ReadModelInputs(std::string_view metadata);

// A request with these inputs, which wants all outputs; `binary`: tensors as bytes both ways.
// FailedPrecondition: text that is not UTF-8, without `binary`.
absl::StatusOr<ClientRequest> WriteInferCall(std::string_view model, std::string_view version,
                                             const Session::Inputs& inputs, bool binary);

// The outputs in the order of the reply. InvalidArgument: it is not one of the protocol's; takes no
// more memory than in proportion to the body.
absl::StatusOr<NamedTensors> ReadInferOutputs(const ServerReply& reply);

// OK where names, types and shapes are equal, and values: floats up to `tolerance` times the
// output's largest expected magnitude, NaN is equal to NaN. InvalidArgument says what differs.
absl::Status CompareOutputs(const NamedTensors& expected, const NamedTensors& got,
                            double tolerance);

}  // namespace onward::serving
