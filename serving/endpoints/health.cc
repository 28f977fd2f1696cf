// Whether the server lives, and whether it and its models take requests.
#include <nlohmann/json.hpp>

#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {

void Live(ServerState&, Call call) { call.respond(JsonReply({{"live", true}})); }

void Ready(ServerState& state, Call call) {
  const bool ready = state.ready;
  nlohmann::json document = {{"ready", ready}};
  if (!ready) document["error"] = "the server is stopping";
  call.respond(JsonReply(document, ready ? 200 : 503));
}

void ModelReady(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  call.respond(JsonReply({{"name", (*model)->name()}, {"ready", true}}));
}

}  // namespace onward::serving
