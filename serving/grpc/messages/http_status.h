// Translates the statuses of replies over HTTP to gRPC's.
#pragma once

#include "absl/status/status.h"
#include "serving/http/message.h"

namespace onward::serving {

// Ok of 200, else the reply's error: InvalidArgument of 400, Unauthenticated of 401,
// PermissionDenied of 403, NotFound of 404, Unimplemented of 405 and 501, ResourceExhausted of 413,
// Cancelled of 499, Unavailable of 503, DeadlineExceeded of 504, Internal of others.
absl::Status StatusOf(const HttpReply& reply);

}  // namespace onward::serving
