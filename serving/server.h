// The inference server: models behind the endpoints of the Open Inference Protocol v2.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/counters.h"
#include "onward/log.h"
#include "serving/access_log.h"
#include "serving/http/http_server.h"
#include "serving/keys.h"
#include "serving/listener.h"
#include "serving/repository/load_model.h"
#include "serving/scheduling/scheduler.h"
#include "serving/served_model.h"

namespace onward::serving {

struct ServerOptions {
  HttpAddress address = {};
  HttpLimits limits = {};
  SchedulerOptions scheduling = {};
  std::string version = {};  // of the program, for GET /v2
  AccessKeys keys = {};
  SessionLoader load_session = {};           // of models that the server loads itself
  GeneratorLoader load_generator = nullptr;  // of those that generate text
  LogSink log = nullptr;
  // The first setting of the log; administrators may change it.
  bool log_news = true;
  uint32_t log_verbose_level = 0;    // from 1 on: a line for each request
  std::string trace_directory = {};  // for traces of requests; "": there are none
  AccessLog access_log = nullptr;    // gets a line for each request in any case
  OpenListener open_grpc = nullptr;  // null: HTTP is the only way in
};

class Server {
 public:
  // Serves until Stop. AlreadyExists: two models of one name. Others as HttpServer::Listen.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      std::vector<std::shared_ptr<ServedModel>> models, const ServerOptions& options);
  virtual ~Server() = default;

  virtual int port() const = 0;
  virtual int grpc_port() const = 0;  // 0: there is none
  // Loads the models of files and directories (see SourcesIn) in the background; the server is not
  // ready before. Models may be loaded later from directories that have several. NotFound,
  // AlreadyExists: two models of one name.
  virtual absl::Status Load(const std::vector<ModelSource>& places) = 0;
  // Nothing while what Load began is under way; then how it ended, the first error.
  virtual std::optional<absl::Status> Loaded() const = 0;
  virtual std::vector<std::shared_ptr<ServedModel>> ready_models() const = 0;
  // Says that it is not ready, takes nothing new, and waits at most so long for what is under way.
  // False: some of it was not answered.
  virtual bool Stop(std::chrono::seconds most) = 0;
};

}  // namespace onward::serving
