#include "serving/grpc/message_exchange.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

#include "onward/status.h"
#include "serving/grpc/messages/http_status.h"
#include "serving/grpc/messages/infer_reply_message.h"
#include "serving/grpc/messages/infer_request_message.h"

namespace onward::serving {

absl::StatusOr<MessageExchange::Asked> MessageExchange::Begin(grpc::ByteBuffer message) {
  InferHead head;
  {
    grpc::ProtoBufferReader reader(&message);
    ONWARD_ASSIGN_OR_RETURN(head, ReadInferHead(reader));
  }
  std::vector<std::string> path = {"v2", "models", std::move(head.model)};
  if (!head.version.empty()) path.insert(path.end(), {"versions", std::move(head.version)});
  path.push_back("infer");
  return Asked{{"POST", std::move(path), {}, ""},
               std::make_shared<MessageExchange>(std::move(message), std::move(head.id))};
}

absl::StatusOr<InferRequest> MessageExchange::Read() {
  inference::ModelInferRequest message;
  {
    grpc::ProtoBufferReader reader(&message_);
    if (!message.ParseFromZeroCopyStream(&reader))
      return absl::InvalidArgumentError("the message is not a ModelInferRequest");
  }
  message_.Clear();
  return ReadInferMessage(message);
}

absl::Status MessageExchange::Write(const absl::StatusOr<InferReply>& reply) {
  if (!reply.ok()) {
    written_ = reply.status();
  } else {
    written_ = WriteInferMessage(*reply);
  }
  if (!written_.ok()) return written_.status();
  for (const BodyPart& part : *written_) bytes_out_ += part.bytes.size();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<BodyPart>> MessageExchange::Sent(const HttpReply& reply) {
  if (!written_.ok()) return written_.status();
  ONWARD_RETURN_IF_ERROR(StatusOf(reply));
  return std::move(written_);
}

}  // namespace onward::serving
