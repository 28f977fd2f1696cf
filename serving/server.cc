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
    state_.keys = options.keys;
    state_.most_body_bytes = static_cast<size_t>(options.limits.body_bytes);
    state_.scheduler = std::make_unique<Scheduler>(options.scheduling);
    absl::StatusOr<std::unique_ptr<HttpServer>> listening =
        HttpServer::Listen(options.address, options.limits,
                           {[this](HttpRequest request, HttpResponder respond) {
                              Dispatch(state_, std::move(request), std::move(respond));
                            },
                            [this](const HttpRequest& head, int64_t body_bytes) {
                              return Admit(state_, head, body_bytes);
                            }});
    if (!listening.ok()) return listening.status();
    http_ = *std::move(listening);
    return absl::OkStatus();
  }

  // Work that waits still replies to connections: it ends before they do.
  ~InferenceServer() override { state_.scheduler.reset(); }

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
