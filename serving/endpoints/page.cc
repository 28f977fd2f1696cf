// The page at / and its files.
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "serving/endpoints/endpoints.h"
#include "serving/page/page_files.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {
namespace {

constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const char* ContentTypeOf(std::string_view name) {
  const std::string file(name);
  if (absl::EndsWith(file, ".html")) return "text/html; charset=utf-8";
  if (absl::EndsWith(file, ".css")) return "text/css; charset=utf-8";
  if (absl::EndsWith(file, ".js")) return "text/javascript; charset=utf-8";
  return "image/svg+xml";
}

// FNV-1a, in quotes.
std::string TagOf(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return absl::StrCat("\"", absl::Hex(hash, absl::kZeroPad16), "\"");
}

void Send(const PageFile& file, const Call& call) {
  const std::string tag = TagOf(file.text);
  HttpReply reply{.content_type = ContentTypeOf(file.name)};
  reply.fields = {{"ETag", tag},
                  {"Cache-Control", "no-cache"},  // asks with the tag each time
                  {"Content-Security-Policy", kPolicy},
                  {"X-Content-Type-Options", "nosniff"},
                  {"Referrer-Policy", "no-referrer"}};
  if (FieldOf(call.request.fields, "if-none-match") == tag) {
    reply.status = 304;
  } else {
    reply.body = std::string(file.text);
  }
  call.respond(std::move(reply));
}

void SendNamed(std::string_view name, const Call& call) {
  for (const PageFile& file : PageFiles())
    if (file.name == name) return Send(file, call);
  call.respond(ErrorReply(404, "Not Found"));
}

}  // namespace

void Page(ServerState&, Call call) { SendNamed("index.html", call); }

void PagePart(ServerState&, Call call) { SendNamed(call.names[0], call); }

}  // namespace onward::serving
