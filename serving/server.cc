#include "serving/server.h"

#include <utility>

#include "serving/routes.h"

namespace onward::serving {
namespace {

class InferenceServer : public Server {
 public:
  absl::Status Open(std::vector<std::shared_ptr<ServedModel>> models,
                    const ServerOptions& options) {
    for (std::shared_ptr<ServedModel>& model : models) {
      if (absl::Status status = state_.models.Add(std::move(model)); !status.ok()) return status;
    }
    state_.version = options.version;
    state_.work = std::make_unique<WorkQueue>(options.threads, options.most_waiting);
    absl::StatusOr<std::unique_ptr<HttpServer>> listening =
        HttpServer::Listen(options.host, options.port, options.limits,
                           [this](HttpRequest request, HttpResponder respond) {
                             Dispatch(state_, std::move(request), std::move(respond));
                           });
    if (!listening.ok()) return listening.status();
    http_ = *std::move(listening);
    return absl::OkStatus();
  }

  // Work that waits still replies to connections: it ends before they do.
  ~InferenceServer() override { state_.work.reset(); }

  int port() const override { return http_->port(); }

  bool Stop(std::chrono::seconds most) override {
    state_.ready = false;
    return http_->Drain(most);
  }

 private:
  ServerState state_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    std::vector<std::shared_ptr<ServedModel>> models, const ServerOptions& options) {
  auto server = std::make_unique<InferenceServer>();
  if (absl::Status status = server->Open(std::move(models), options); !status.ok()) return status;
  return server;
}

}  // namespace onward::serving
