// ModelInferResponse: the reply to an inference as gRPC has it.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "serving/grpc/messages/inference.pb.h"
#include "serving/http/message.h"
#include "serving/protocol/infer_reply.h"

namespace onward::serving {

// The bytes of a ModelInferResponse. Outputs have typed contents if none is wanted as bytes and all
// datatypes have a field; else raw contents, of which large ones are not copied: parts refer to the
// tensors' memory. OutOfRange: 2 GiB or more, which no message has; FailedPrecondition: an element
// of BYTES of 4 GiB or more.
absl::StatusOr<std::vector<BodyPart>> WriteInferMessage(const InferReply& reply);

// The bytes of a ModelStreamInferResponse with that reply, which has the parameter
// triton_final_response.
std::vector<BodyPart> AsStreamed(std::vector<BodyPart> reply, bool is_final);

}  // namespace onward::serving
