// What the server and its models are.
#include <nlohmann/json.hpp>

#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {
namespace {

// What is announced is done, all of it.
constexpr const char* kExtensions[] = {"binary_tensor_data", "classification", "parameters"};

}  // namespace

void ServerMetadata(ServerState& state, Call call) {
  call.respond(
      JsonReply({{"name", "onward"}, {"version", state.version}, {"extensions", kExtensions}}));
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
