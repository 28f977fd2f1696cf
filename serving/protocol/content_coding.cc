#include "serving/protocol/content_coding.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serving/http/compression.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {

std::optional<HttpReply> DecodeBody(HttpRequest& request, size_t most) {
  const std::optional<Coding> coding = CodingOf(request.fields);
  if (!coding) {
    HttpReply reply =
        ErrorReply(415, absl::StrCat("Content-Encoding is not one of ", kCodings, ", identity"));
    reply.fields.emplace_back("Accept-Encoding", kCodings);
    return reply;
  }
  if (coding == Coding::kIdentity) return std::nullopt;
  absl::StatusOr<std::string> body = Decompress(*coding, request.body, most);
  if (absl::IsOutOfRange(body.status()))
    return ErrorReply(413, std::string(body.status().message()));
  if (!body.ok()) return ErrorReply(body.status());
  request.body = *std::move(body);
  return std::nullopt;
}

void EncodeBody(const HttpRequest& request, HttpReply& reply) {
  if (BodySize(reply) < kLeastCompressed) return;
  const Coding coding = AcceptedCoding(request.fields);
  if (coding == Coding::kIdentity) return;
  std::vector<std::string_view> parts = {reply.body};
  for (const BodyPart& part : reply.parts) parts.push_back(part.bytes);
  absl::StatusOr<std::string> body = Compress(coding, parts);
  if (!body.ok()) return;  // it is sent as it is
  reply.body = *std::move(body);
  reply.parts.clear();
  reply.fields.emplace_back("Content-Encoding", coding == Coding::kGzip ? "gzip" : "deflate");
}

}  // namespace onward::serving
