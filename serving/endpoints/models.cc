// What the server and its models are.
#include <nlohmann/json.hpp>

#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {

void ServerMetadata(ServerState& state, Call call) {
  call.respond(JsonReply(
      {{"name", "onward"}, {"version", state.version}, {"extensions", nlohmann::json::array()}}));
}

void ModelList(ServerState& state, Call call) {
  call.respond(JsonReply({{"models", state.models.Names()}}));
}

void ModelMetadata(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  call.respond({.body = (*model)->MetadataJson()});
}

}  // namespace onward::serving
