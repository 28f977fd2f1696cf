// An inference whose request and reply are messages of gRPC.
#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/endpoints/endpoints.h"
#include "serving/grpc/messages/infer_request_message.h"
#include "serving/grpc/messages/text_message.h"
#include "serving/http/message.h"
#include "serving/protocol/infer_exchange.h"

namespace onward::serving {

// Errors as ReadInferHead.
absl::StatusOr<InferHead> HeadOf(grpc::ByteBuffer& message);
// The request, without a body, to an endpoint of the model.
HttpRequest RequestTo(const InferHead& head, const char* endpoint);
// The text that a message asks a model of text for; nullopt: it is an inference like
// others. Errors as ReadTextMessage.
absl::StatusOr<std::optional<TextRequest>> TextRequestOf(const ServerState& state,
                                                         const InferHead& head,
                                                         grpc::ByteBuffer& message);

class MessageExchange : public InferExchange {
 public:
  explicit MessageExchange(grpc::ByteBuffer message)
      : message_(std::move(message)), bytes_in_(message_.Length()) {}

  size_t bytes_in() const override { return bytes_in_; }
  absl::StatusOr<InferRequest> Read() override;
  absl::Status Write(const absl::StatusOr<InferReply>& reply) override;
  size_t bytes_out() const override { return bytes_out_; }

  // The result to send, once the endpoint has replied: the bytes of a ModelInferResponse, or why
  // there are none.
  absl::StatusOr<std::vector<BodyPart>> Sent(const HttpReply& reply);

 private:
  grpc::ByteBuffer message_;
  const size_t bytes_in_;
  size_t bytes_out_ = 0;
  absl::StatusOr<std::vector<BodyPart>> written_ = std::vector<BodyPart>();
};

}  // namespace onward::serving
