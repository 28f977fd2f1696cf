// Errors as OpenAI's clients expect them: {"error": {"message", "type", "param", "code"}}.
#pragma once

#include "serving/http/message.h"

namespace onward::serving {

// The protocol's {"error": "member: what"} in that form; other replies as they are.
HttpReply AsOpenAiError(HttpReply reply);

}  // namespace onward::serving
