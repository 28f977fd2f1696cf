// The endpoints: one row each, with who may call it. A path that no row has does not exist.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "serving/http/http_server.h"
#include "serving/served_model.h"
#include "serving/work_queue.h"

namespace onward::serving {

// What handlers work on.
struct ServerState {
  std::map<std::string, std::shared_ptr<ServedModel>> models;
  std::string version;
  std::atomic<bool> ready{true};
  std::unique_ptr<WorkQueue> work;
};

// One request at its endpoint.
struct Call {
  HttpRequest request;
  std::vector<std::string> names;  // what stands for "{}" in the pattern
  HttpResponder respond;
};

enum class RouteClass { kOpen, kInference };  // whom its keys let in, once there are keys

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
