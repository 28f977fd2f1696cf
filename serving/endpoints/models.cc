// Metadata of the server and its models.
#include <nlohmann/json.hpp>

#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"
#include "serving/repository/config_json.h"

namespace onward::serving {
namespace {

// The parts of the protocol beyond its core that the server has.
constexpr const char* kExtensions[] = {
    "binary_tensor_data", "classification", "parameters", "model_configuration",
    "schedule_policy",    "statistics",     "sequence",   "sequence(string_id)"};

}  // namespace

void ServerMetadata(ServerState& state, Call call) {
  nlohmann::json extensions(kExtensions);
  if (state.keys.admin)
    for (const char* extension : {"model_repository", "logging", "trace"})
      extensions.push_back(extension);
  call.respond(
      JsonReply({{"name", "onward"}, {"version", state.version}, {"extensions", extensions}}));
}

void ModelList(ServerState& state, Call call) {
  call.respond(JsonReply({{"models", state.models.Names()}}));
}

void ModelMetadata(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  const std::vector<std::string> versions = call.names.size() > 1
                                                ? std::vector<std::string>{(*model)->version()}
                                                : state.models.Versions((*model)->name());
  call.respond({.body = (*model)->MetadataJson(versions)});
}

void ModelConfiguration(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  call.respond(JsonReply(ConfigJson((*model)->config())));
}

}  // namespace onward::serving
