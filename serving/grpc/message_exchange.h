// An inference whose request and reply are messages of gRPC.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/http/message.h"
#include "serving/protocol/infer_exchange.h"

namespace onward::serving {

class MessageExchange : public InferExchange {
 public:
  struct Asked {
    HttpRequest request;  // to the model's endpoint, without a body
    std::shared_ptr<MessageExchange> exchange;
  };
  // Looks at the message's head alone. InvalidArgument: it is not a ModelInferRequest.
  static absl::StatusOr<Asked> Begin(grpc::ByteBuffer message);

  explicit MessageExchange(grpc::ByteBuffer message, std::string id)
      : message_(std::move(message)), id_(std::move(id)), bytes_in_(message_.Length()) {}

  size_t bytes_in() const override { return bytes_in_; }
  absl::StatusOr<InferRequest> Read() override;
  absl::Status Write(const absl::StatusOr<InferReply>& reply) override;
  size_t bytes_out() const override { return bytes_out_; }

  const std::string& id() const { return id_; }
  // What is sent, once the endpoint has replied: the bytes of a ModelInferResponse, or why there
  // are none.
  absl::StatusOr<std::vector<BodyPart>> Sent(const HttpReply& reply);

 private:
  grpc::ByteBuffer message_;
  const std::string id_;
  const size_t bytes_in_;
  size_t bytes_out_ = 0;
  absl::StatusOr<std::vector<BodyPart>> written_ = std::vector<BodyPart>();
};

}  // namespace onward::serving
