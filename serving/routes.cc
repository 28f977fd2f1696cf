#include "serving/routes.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serving/protocol/error_reply.h"

namespace onward::serving {
namespace {

constexpr Route kRoutes[] = {
    {"GET", "v2", RouteClass::kOpen, ServerMetadata},
    {"GET", "v2/health/live", RouteClass::kOpen, Live},
    {"GET", "v2/health/ready", RouteClass::kOpen, Ready},
    {"GET", "v2/models", RouteClass::kInference, ModelList},
    {"GET", "v2/models/stats", RouteClass::kInference, AllStatistics},  // before any model's name
    {"GET", "v2/models/{}", RouteClass::kInference, ModelMetadata},
    {"GET", "v2/models/{}/ready", RouteClass::kInference, ModelReady},
    {"POST", "v2/models/{}/infer", RouteClass::kInference, Infer, AdmitInfer},
    {"GET", "v2/models/{}/versions/{}", RouteClass::kInference, ModelMetadata},
    {"GET", "v2/models/{}/versions/{}/ready", RouteClass::kInference, ModelReady},
    {"POST", "v2/models/{}/versions/{}/infer", RouteClass::kInference, Infer, AdmitInfer},
    {"GET", "v2/models/{}/stats", RouteClass::kInference, Statistics},
    {"GET", "v2/models/{}/versions/{}/stats", RouteClass::kInference, Statistics},
    {"GET", "v2/models/{}/config", RouteClass::kInference, ModelConfiguration},
    {"GET", "v2/models/{}/versions/{}/config", RouteClass::kInference, ModelConfiguration},
    {"POST", "v2/repository/index", RouteClass::kAdmin, RepositoryIndex},
    {"POST", "v2/repository/{}/index", RouteClass::kAdmin, RepositoryIndex},
    {"POST", "v2/repository/models/{}/load", RouteClass::kAdmin, LoadModelNow},
    {"POST", "v2/repository/{}/models/{}/load", RouteClass::kAdmin, LoadModelNow},
    {"POST", "v2/repository/models/{}/unload", RouteClass::kAdmin, UnloadModel},
    {"POST", "v2/repository/{}/models/{}/unload", RouteClass::kAdmin, UnloadModel},
    {"GET", "metrics", RouteClass::kInference, Metrics},
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
    if (request.method == route.method) {
      if (std::optional<HttpReply> refusal =
              CheckKey(state.keys, route.route_class, request.fields))
        return respond(*std::move(refusal));
      return route.handle(state, {std::move(request), std::move(names), std::move(respond)});
    }
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", route.method);
  }
  if (allowed.empty()) return respond(ErrorReply(404, "Not Found"));
  HttpReply reply = ErrorReply(405, "Method Not Allowed");
  reply.fields.emplace_back("Allow", allowed);
  respond(std::move(reply));
}

std::optional<HttpReply> Admit(const ServerState& state, const HttpRequest& head,
                               int64_t body_bytes) {
  std::vector<std::string> names;
  for (const Route& route : kRoutes)
    if (route.admit != nullptr && head.method == route.method &&
        Matches(route.pattern, head.segments, names))
      return route.admit(state, names, body_bytes);
  return std::nullopt;
}

}  // namespace onward::serving
