// The inference server: models behind the endpoints of the Open Inference Protocol v2.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/counters.h"
#include "serving/http/http_server.h"
#include "serving/keys.h"
#include "serving/scheduler.h"
#include "serving/served_model.h"

namespace onward::serving {

struct ServerOptions {
  HttpAddress address = {};
  HttpLimits limits = {};
  SchedulerOptions scheduling = {};
  std::string version = {};  // of the program, for GET /v2
  AccessKeys keys = {};
};

class Server {
 public:
  // Serves until Stop. AlreadyExists: two models of one name. Others as HttpServer::Listen.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      std::vector<std::shared_ptr<ServedModel>> models, const ServerOptions& options);
  virtual ~Server() = default;

  virtual int port() const = 0;
  // Says that it is not ready, takes nothing new, and waits at most so long for what is under way.
  // False: some of it was not answered.
  virtual bool Stop(std::chrono::seconds most) = 0;
};

}  // namespace onward::serving
