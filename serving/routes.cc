#include "serving/routes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/protocol/error_reply.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/infer_request.h"

namespace onward::serving {
namespace {

HttpReply Json(const nlohmann::json& document, int status = 200) {
  return {.status = status,
          .body = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

// --- health

void Live(ServerState&, Call call) { call.respond(Json({{"live", true}})); }

void Ready(ServerState& state, Call call) {
  const bool ready = state.ready;
  nlohmann::json document = {{"ready", ready}};
  if (!ready) document["error"] = "the server is stopping";
  call.respond(Json(document, ready ? 200 : 503));
}

// --- models

// The model that the call names, of the version that it names, if any.
absl::StatusOr<std::shared_ptr<ServedModel>> ModelOf(const ServerState& state, const Call& call) {
  const std::string& name = call.names[0];
  const auto found = state.models.find(name);
  if (found == state.models.end()) {
    std::vector<std::string> names;
    for (const auto& [each, model] : state.models) names.push_back(each);
    const std::string closest = ClosestName(name, names);
    return absl::NotFoundError(
        absl::StrCat("Request for unknown model: '", name, "' is not found",
                     closest.empty() ? "" : absl::StrCat("; the closest is '", closest, "'")));
  }
  if (call.names.size() > 1 && call.names[1] != kOnlyVersion)
    return absl::NotFoundError(absl::StrCat("Request for unknown model: '", name,
                                            "' has no version ", call.names[1], ", it has ",
                                            kOnlyVersion));
  return found->second;
}

void ModelReady(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  call.respond(Json({{"name", (*model)->name()}, {"ready", true}}));
}

void ServerMetadata(ServerState& state, Call call) {
  call.respond(Json(
      {{"name", "onward"}, {"version", state.version}, {"extensions", nlohmann::json::array()}}));
}

void ModelList(ServerState& state, Call call) {
  nlohmann::json names = nlohmann::json::array();
  for (const auto& [name, model] : state.models) names.push_back(name);
  call.respond(Json({{"models", names}}));
}

void ModelMetadata(ServerState& state, Call call) {
  const auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  call.respond({.body = (*model)->MetadataJson()});
}

// --- inference

HttpReply ReplyOf(const ServedModel& model, const std::string& body) {
  const auto written = [&]() -> absl::StatusOr<std::string> {
    ONWARD_ASSIGN_OR_RETURN(const InferRequest request, ReadInferRequest(body));
    ONWARD_ASSIGN_OR_RETURN(const InferReply reply, model.Infer(request, {}));
    return WriteInferReply(reply);
  };
  try {
    absl::StatusOr<std::string> json = written();
    if (!json.ok()) return ErrorReply(json.status());
    return {.body = *std::move(json)};
  } catch (const std::bad_alloc&) {
    return ErrorReply(503, "there is not enough memory for this request now");
  }
}

void Infer(ServerState& state, Call call) {
  auto model = ModelOf(state, call);
  if (!model.ok()) return call.respond(ErrorReply(model.status()));
  const auto shared = std::make_shared<Call>(std::move(call));
  const bool taken = state.work->Submit([model = *std::move(model), shared] {
    shared->respond(ReplyOf(*model, shared->request.body));
  });
  if (!taken) shared->respond(ErrorReply(503, "too many requests wait already"));
}

constexpr Route kRoutes[] = {
    {"GET", "v2", RouteClass::kOpen, ServerMetadata},
    {"GET", "v2/health/live", RouteClass::kOpen, Live},
    {"GET", "v2/health/ready", RouteClass::kOpen, Ready},
    {"GET", "v2/models", RouteClass::kInference, ModelList},
    {"GET", "v2/models/{}", RouteClass::kInference, ModelMetadata},
    {"GET", "v2/models/{}/ready", RouteClass::kInference, ModelReady},
    {"POST", "v2/models/{}/infer", RouteClass::kInference, Infer},
    {"GET", "v2/models/{}/versions/{}", RouteClass::kInference, ModelMetadata},
    {"GET", "v2/models/{}/versions/{}/ready", RouteClass::kInference, ModelReady},
    {"POST", "v2/models/{}/versions/{}/infer", RouteClass::kInference, Infer},
};

// Whether the path is of the pattern; `names` gets what stands for "{}".
bool Matches(std::string_view pattern, const std::vector<std::string>& segments,
             std::vector<std::string>& names) {
  names.clear();
  for (const std::string& segment : segments) {
    if (pattern.empty()) return false;
    const size_t slash = pattern.find('/');
    const std::string_view expected = pattern.substr(0, slash);
    pattern = slash == pattern.npos ? "" : pattern.substr(slash + 1);
    if (expected == "{}") {
      names.push_back(segment);
    } else if (expected != segment) {
      return false;
    }
  }
  return pattern.empty();
}

}  // namespace

absl::Span<const Route> Routes() { return kRoutes; }

void Dispatch(ServerState& state, HttpRequest request, HttpResponder respond) {
  std::string allowed;
  std::vector<std::string> names;
  for (const Route& route : kRoutes) {
    if (!Matches(route.pattern, request.segments, names)) continue;
    if (request.method == route.method)
      return route.handle(state, {std::move(request), std::move(names), std::move(respond)});
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", route.method);
  }
  if (allowed.empty()) return respond(ErrorReply(404, "Not Found"));
  HttpReply reply = ErrorReply(405, "Method Not Allowed");
  reply.fields.emplace_back("Allow", allowed);
  respond(std::move(reply));
}

}  // namespace onward::serving
