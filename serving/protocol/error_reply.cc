#include "serving/protocol/error_reply.h"

#include "serving/protocol/json_text.h"

namespace onward::serving {
namespace {

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
      return 400;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kCancelled:
      return 499;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

}  // namespace

HttpReply ErrorReply(int status, const std::string& message) {
  HttpReply reply{.status = status};
  reply.body = "{\"error\":";
  AppendQuoted(message, reply.body);
  reply.body.push_back('}');
  if (status == 503) reply.fields.emplace_back("Retry-After", "1");
  return reply;
}

HttpReply NoMemoryReply() noexcept { return {.status = 503, .body = R"({"error":"oom"})"}; }

HttpReply ErrorReply(const absl::Status& status) {
  if (status.message().empty() && absl::IsResourceExhausted(status)) return NoMemoryReply();
  return ErrorReply(HttpStatusOf(status.code()), std::string(status.message()));
}

}  // namespace onward::serving
