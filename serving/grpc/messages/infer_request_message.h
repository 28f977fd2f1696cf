// ModelInferRequest: a request for an inference as gRPC has it.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include <string>

#include "absl/status/statusor.h"
#include "serving/grpc/messages/inference.pb.h"
#include "serving/protocol/infer_request.h"

namespace onward::serving {

// The facts about a request that are known before it is parsed.
struct InferHead {
  std::string model, version, id;
};
// Skips all else. InvalidArgument: the bytes are not a message, or have more parts than a request
// needs, of which each takes far more memory than its bytes.
absl::StatusOr<InferHead> ReadInferHead(google::protobuf::io::ZeroCopyInputStream& bytes);

// By the rules of requests over HTTP. Outputs are `binary` where the reply has raw contents.
// InvalidArgument names the field: "inputs[0].shape: ...". Takes no more memory than in proportion
// to the message.
absl::StatusOr<InferRequest> ReadInferMessage(const inference::ModelInferRequest& message);

}  // namespace onward::serving
