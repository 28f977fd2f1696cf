// Tells whether the server lives, and whether it and its models take requests.
#include <nlohmann/json.hpp>

#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {

void Live(ServerState&, Call call) { call.respond(JsonReply({{"live", true}})); }

void Ready(ServerState& state, Call call) {
  const char* error = !state.ready        ? "the server is stopping"
                      : state.loading > 0 ? "models are being loaded"
                      : state.load_failed ? "a model could not be loaded"
                                          : nullptr;
  const bool ready = error == nullptr;
  nlohmann::json document = {{"ready", ready}};
  if (!ready) document["error"] = error;
  call.respond(JsonReply(document, ready ? 200 : 503));
}

void ModelReady(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (absl::IsUnavailable(model.status())) {
    HttpReply reply = ErrorReply(model.status());
    nlohmann::json document = nlohmann::json::parse(reply.body);
    document["name"] = call.names[0];
    document["ready"] = false;
    reply.body = JsonReply(document).body;
    return call.respond(std::move(reply));
  }
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  call.respond(JsonReply({{"name", (*model)->name()}, {"ready", true}}));
}

}  // namespace onward::serving
