// Tells whether the server lives, and whether it and its models take requests. Probes come when
// memory lacks, too: documents of JSON would end the process then.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"
#include "serving/protocol/json_text.h"

namespace onward::serving {

void Live(ServerState&, Call call) { call.respond({.body = R"({"live":true})"}); }

void Ready(ServerState& state, Call call) {
  const char* error = !state.ready        ? "the server is stopping"
                      : state.loading > 0 ? "models are being loaded"
                      : state.load_failed ? "a model could not be loaded"
                                          : nullptr;
  if (error == nullptr) return call.respond({.body = R"({"ready":true})"});
  call.respond(
      {.status = 503, .body = absl::StrCat(R"({"error":")", error, R"(","ready":false})")});
}

void ModelReady(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  const bool is_there = absl::IsUnavailable(model.status());
  if (!model.ok() && !is_there) return call.respond(ErrorReply(model.status()));
  HttpReply reply{.body = "{"};
  if (is_there) {
    reply = ErrorReply(model.status());
    reply.body.back() = ',';  // of the object that the error is
  }
  reply.body += "\"name\":";
  AppendQuoted(call.names[0], reply.body);
  reply.body += model.ok() ? ",\"ready\":true}" : ",\"ready\":false}";
  call.respond(std::move(reply));
}

}  // namespace onward::serving
