// Text by messages of gRPC, as clients of Triton's language models ask for it: the input text_input
// and the output text_output of an inference.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/grpc/messages/inference.pb.h"
#include "serving/http/message.h"

namespace onward::serving {

bool AsksForText(const inference::ModelInferRequest& message);  // it has the input

struct TextRequest {
  std::string body;          // of the endpoint `generate`
  bool stream = true;        // the input `stream`, if it is there
  bool wants_final = false;  // an empty reply after the last one
};
// Other inputs are members of the body, as are the message's parameters. Errors as
// ReadInferMessage.
absl::StatusOr<TextRequest> ReadTextMessage(const inference::ModelInferRequest& message);

// The bytes of a ModelInferResponse of a reply in JSON, or of an event. Internal: it is an error.
absl::StatusOr<std::vector<BodyPart>> WriteTextMessage(std::string_view json);

}  // namespace onward::serving
