// Reads and writes an inference that does not come as HTTP.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/read_infer_request.h"

namespace onward::serving {

// One request and its reply. Not thread-safe: Read comes before Write.
class InferExchange {
 public:
  virtual ~InferExchange() = default;
  virtual size_t bytes_in() const = 0;  // of the request
  // Called by a thread that computes. InvalidArgument as ReadInferRequest.
  virtual absl::StatusOr<InferRequest> Read() = 0;
  // Takes the reply, or why there is none; called once at most. Returns the latter, or the error of
  // a reply that cannot be written.
  virtual absl::Status Write(const absl::StatusOr<InferReply>& reply) = 0;
  virtual size_t bytes_out() const = 0;  // of the reply
};

}  // namespace onward::serving
