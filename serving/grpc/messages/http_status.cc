#include "serving/grpc/messages/http_status.h"

#include <nlohmann/json.hpp>
#include <string>

namespace onward::serving {
namespace {

struct Row {
  int http;
  absl::StatusCode code;
};
constexpr Row kRows[] = {
    {400, absl::StatusCode::kInvalidArgument},  {401, absl::StatusCode::kUnauthenticated},
    {403, absl::StatusCode::kPermissionDenied}, {404, absl::StatusCode::kNotFound},
    {405, absl::StatusCode::kUnimplemented},    {413, absl::StatusCode::kResourceExhausted},
    {499, absl::StatusCode::kCancelled},        {501, absl::StatusCode::kUnimplemented},
    {503, absl::StatusCode::kUnavailable},      {504, absl::StatusCode::kDeadlineExceeded},
};

std::string ErrorOf(const HttpReply& reply) {
  const nlohmann::json body = nlohmann::json::parse(reply.body, nullptr, false);
  const auto error = body.is_object() ? body.find("error") : body.end();
  if (!body.is_object() || error == body.end() || !error->is_string()) return "the request failed";
  return error->get<std::string>();
}

}  // namespace

absl::Status StatusOf(const HttpReply& reply) {
  if (reply.status == 200) return absl::OkStatus();
  for (const Row& row : kRows)
    if (row.http == reply.status) return {row.code, ErrorOf(reply)};
  return absl::InternalError(ErrorOf(reply));
}

}  // namespace onward::serving
