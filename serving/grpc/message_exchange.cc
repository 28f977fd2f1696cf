#include "serving/grpc/message_exchange.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

#include "onward/status.h"
#include "serving/grpc/messages/http_status.h"
#include "serving/grpc/messages/infer_reply_message.h"

namespace onward::serving {

absl::StatusOr<InferHead> HeadOf(grpc::ByteBuffer& message) {
  grpc::ProtoBufferReader reader(&message);
  return ReadInferHead(reader);
}

HttpRequest RequestTo(const InferHead& head, const char* endpoint) {
  std::vector<std::string> path = {"v2", "models", head.model};
  if (!head.version.empty()) path.insert(path.end(), {"versions", head.version});
  path.push_back(endpoint);
  return {"POST", std::move(path), {}, ""};
}

absl::StatusOr<std::optional<TextRequest>> TextRequestOf(const ServerState& state,
                                                         const InferHead& head,
                                                         grpc::ByteBuffer& buffer) {
  constexpr size_t kMostBytes = 1 << 20;  // that gRPC's thread parses
  const auto model = state.models.Find(head.model, head.version);
  if (!model.ok() || (*model)->text() == nullptr || buffer.Length() > kMostBytes)
    return std::optional<TextRequest>();
  inference::ModelInferRequest message;
  grpc::ProtoBufferReader reader(&buffer);
  if (!message.ParseFromZeroCopyStream(&reader) || !AsksForText(message))
    return std::optional<TextRequest>();
  ONWARD_ASSIGN_OR_RETURN(TextRequest text, ReadTextMessage(message));
  return std::optional<TextRequest>(std::move(text));
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
