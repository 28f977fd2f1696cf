// The endpoints: one row each, with who may call it. A path that no row has does not exist.
#pragma once

#include "absl/types/span.h"
#include "serving/endpoints/endpoints.h"

namespace onward::serving {

enum class RouteClass { kOpen, kInference, kAdmin };  // whom its keys let in, once there are keys

struct Route {
  const char* method;
  const char* pattern;  // "v2/models/{}/infer"
  RouteClass route_class;
  void (*handle)(ServerState& state, Call call);
};

absl::Span<const Route> Routes();

// Hands the request to its endpoint: 404 where there is none, 405 for another method.
void Dispatch(ServerState& state, HttpRequest request, HttpResponder respond);

}  // namespace onward::serving
