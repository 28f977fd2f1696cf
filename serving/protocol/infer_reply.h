// The reply to an inference request (Open Inference Protocol v2, section "Inference", with the
// extension binary_tensor_data).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/tensor.h"
#include "serving/http/message.h"

namespace onward::serving {

struct ReplyOutput {
  std::string name;
  Tensor tensor;
  bool binary = false;  // as bytes behind the JSON
};

struct InferReply {
  std::string model, version;
  std::optional<std::string> id = std::nullopt;
  std::vector<ReplyOutput> outputs = {};
};

// Floats as the shortest decimals that read back the same; NaN and infinities as NaN, Infinity and
// -Infinity. Large binary outputs are not copied: the reply's parts refer to the tensors' memory.
// FailedPrecondition: text that is not UTF-8 in an output that is not binary.
absl::StatusOr<HttpReply> WriteInferReply(const InferReply& reply);

// Appends a tensor to the JSON of a message, as replies and requests have it. Errors as above.
absl::Status AppendTensor(const ReplyOutput& tensor, HttpReply& message);
// Says that bytes follow the JSON, which is complete.
void SendAsBytes(HttpReply& message);

}  // namespace onward::serving
