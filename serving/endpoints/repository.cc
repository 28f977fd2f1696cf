// The repository of models: what is in it, and loading and unloading.
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/log.h"
#include "serving/endpoints/endpoints.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {
namespace {

using nlohmann::json;

// Larger bodies, as loads with models have, are not parsed by the network's thread.
constexpr size_t kMostSmallBody = 64 * 1024;

// An empty body is an empty object. InvalidArgument: it is something else.
absl::StatusOr<json> SmallObject(const std::string& body) {
  if (body.empty()) return json::object();
  if (body.size() > kMostSmallBody)
    return absl::InvalidArgumentError(
        absl::StrCat("the body has ", body.size(), " bytes, expected at most ", kMostSmallBody));
  json document = json::parse(body, nullptr, false);
  if (!document.is_object()) return absl::InvalidArgumentError("the body is not a JSON object");
  return document;
}

}  // namespace

void RepositoryIndex(ServerState& state, Call call) {
  const absl::StatusOr<json> asked = SmallObject(call.request.body);
  if (!asked.ok()) return call.respond(ErrorReply(asked.status()));
  const auto ready = asked->find("ready");
  if (ready != asked->end() && !ready->is_boolean())
    return call.respond(
        ErrorReply(400, absl::StrCat("ready: expected true or false, got ", ready->type_name())));
  json list = json::array();
  for (const IndexEntry& entry : state.models.Index(ready != asked->end() && ready->get<bool>())) {
    json row = {{"name", entry.name}};
    if (!entry.version.empty()) row["version"] = entry.version;
    if (entry.state != ModelState::kUnknown) row["state"] = ModelStateName(entry.state);
    if (!entry.reason.empty()) row["reason"] = entry.reason;
    list.push_back(std::move(row));
  }
  call.respond(JsonReply(list));
}

void LoadModelNow(ServerState& state, Call call) {
  const std::string name = call.names.back();
  const auto shared = std::make_shared<Call>(std::move(call));
  const auto read = [shared]() -> absl::StatusOr<LoadRequest> {
    const std::string body = std::move(shared->request.body);
    return ReadLoadRequest(body);
  };
  state.models.Load(name, read, [&state, shared, name](const absl::Status& status) {
    if (status.ok()) return shared->respond({});
    HttpReply reply = NoMemoryReply();
    try {
      Warn(state.log, "serving",
           absl::StrCat("loading failed: ",
                        status.message().empty() ? "out of memory" : status.message()));
      reply = ErrorReply(state.models.ForClients(name, status));
    } catch (const std::bad_alloc&) {
    }
    shared->respond(std::move(reply));
  });
}

void UnloadModel(ServerState& state, Call call) {
  const absl::StatusOr<json> asked = SmallObject(call.request.body);
  if (!asked.ok()) return call.respond(ErrorReply(asked.status()));
  const absl::Status status = state.models.Unload(call.names.back());
  call.respond(status.ok() ? HttpReply() : ErrorReply(status));
}

}  // namespace onward::serving
