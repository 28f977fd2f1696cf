// Errors as the protocol has them: {"error": "..."} with a status.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "serving/http/message.h"

namespace onward::serving {

HttpReply ErrorReply(int status, const std::string& message);
// InvalidArgument and OutOfRange are 400, NotFound 404, Cancelled 499, DeadlineExceeded 504,
// ResourceExhausted and Unavailable 503 with Retry-After, Unimplemented 501, others 500. For a
// ResourceExhausted without a text (see OrNoMemory) it is NoMemoryReply.
HttpReply ErrorReply(const absl::Status& status);
// Returns the reply for a lack of memory; it allocates nothing.
HttpReply NoMemoryReply() noexcept;

}  // namespace onward::serving
