// Messages of administrators' methods that are not the JSON of their endpoints field by field.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "serving/http/message.h"

namespace onward::serving {

// InvalidArgument: the bytes are not such a message.
template <typename Message>
absl::StatusOr<Message> Parsed(std::string_view bytes) {
  Message message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return message;
  return absl::InvalidArgumentError(
      absl::StrCat("the message is not a ", std::string(Message::descriptor()->name())));
}

absl::StatusOr<HttpRequest> IndexRequest(std::string_view bytes);
// InvalidArgument: a file whose bytes are not bytes_param.
absl::StatusOr<HttpRequest> LoadModelRequest(std::string_view bytes);
absl::StatusOr<HttpRequest> UnloadModelRequest(std::string_view bytes);
// Without settings they ask for those that are; else they change them. Unimplemented: settings of
// one model.
absl::StatusOr<HttpRequest> TraceRequest(std::string_view bytes);
absl::StatusOr<std::string> TraceReply(const HttpReply& reply);
absl::StatusOr<HttpRequest> LogRequest(std::string_view bytes);
absl::StatusOr<std::string> LogReply(const HttpReply& reply);

}  // namespace onward::serving
