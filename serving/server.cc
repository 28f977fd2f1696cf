#include "serving/server.h"

#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "serving/idle_timer.h"
#include "serving/routes.h"

namespace onward::serving {
namespace {

constexpr std::chrono::seconds kIdlePeriod{10}, kMostIdle{60};
// Who asks once a second whether the server is ready hears that it stops.
constexpr std::chrono::milliseconds kLeastDrain{1100};
constexpr std::chrono::milliseconds kTurnWhileRefusing{1};

class InferenceServer : public Server {
 public:
  absl::Status Open(std::vector<std::shared_ptr<ServedModel>> models,
                    const ServerOptions& options) {
    for (std::shared_ptr<ServedModel>& model : models) {
      if (absl::Status status = state_.models.Add(std::move(model)); !status.ok()) return status;
    }
    TakeLogs(options);
    state_.models.SetUp(options.load_session, options.load_generator, state_.log);
    state_.version = options.version;
    state_.keys = options.keys;
    state_.most_body_bytes = static_cast<size_t>(options.limits.body_bytes);
    state_.scheduler = std::make_shared<Scheduler>(options.scheduling);
    absl::StatusOr<std::unique_ptr<HttpServer>> listening = HttpServer::Listen(
        options.address, options.limits,
        {[this](HttpRequest request, HttpResponder respond) {
           Dispatch(state_, std::move(request), std::move(respond));
         },
         [this](const HttpRequest& head, int64_t body_bytes) {
           return Admit(state_, head, body_bytes);
         },
         [](const HttpRequest& head, size_t body_bytes) { return SplitOf(head, body_bytes); },
         [this](const std::string& client, int status) { NoteRefusal(state_, client, status); },
         [this] {
           state_.scheduler->Wake();
           // To wake for each one that is refused would take more from those that compute than to
           // refuse it.
           if (state_.scheduler->refuses()) std::this_thread::sleep_for(kTurnWhileRefusing);
         }});
    if (!listening.ok()) return listening.status();
    http_ = *std::move(listening);
    idle_timer_.emplace(state_.models, kIdlePeriod, kMostIdle);
    if (options.open_grpc == nullptr) return absl::OkStatus();
    absl::StatusOr<std::unique_ptr<Listener>> opened = options.open_grpc(state_);
    if (!opened.ok()) return opened.status();
    grpc_ = *std::move(opened);
    return absl::OkStatus();
  }

  // Calls of gRPC end while there is a scheduler that ends them. Work that waits still replies to
  // connections: it ends before they do, and they may ask the scheduler until then.
  ~InferenceServer() override {
    idle_timer_.reset();
    grpc_.reset();
    state_.text_queue.End();
    state_.text_runs.End();
    state_.models.End();
    if (state_.scheduler != nullptr) state_.scheduler->End();
  }

  int port() const override { return http_->port(); }
  int grpc_port() const override { return grpc_ == nullptr ? 0 : grpc_->port(); }

  absl::Status Load(const std::vector<ModelSource>& places) override {
    std::vector<ModelSource> sources;
    for (const ModelSource& place : places) {
      absl::StatusOr<std::vector<ModelSource>> found = SourcesAt(place, state_.log);
      if (!found.ok()) return found.status();
      if (found->size() != 1 || HoldsModels(place.path)) state_.models.AddRoot(place.path);
      sources.insert(sources.end(), found->begin(), found->end());
    }
    for (const ModelSource& source : sources)
      if (absl::Status status = state_.models.AddSource(source); !status.ok()) return status;
    state_.loading += static_cast<int>(sources.size());
    for (const ModelSource& source : sources)
      state_.models.Load(source.name, nullptr,
                         [this](const absl::Status& status) { Note(status); });
    return absl::OkStatus();
  }

  std::optional<absl::Status> Loaded() const override {
    const std::lock_guard lock(mutex_);
    return state_.loading > 0 ? std::nullopt : std::optional(first_error_);
  }

  std::vector<std::shared_ptr<ServedModel>> ready_models() const override {
    return state_.models.Ready();
  }

  bool Stop(std::chrono::seconds most) override {
    state_.ready = false;
    std::future<bool> drained;
    if (grpc_ != nullptr)
      drained = std::async(std::launch::async, [this, most] { return grpc_->Drain(most); });
    const bool http_drained = http_->Drain(kLeastDrain, most);
    return (!drained.valid() || drained.get()) && http_drained;
  }

 private:
  void TakeLogs(const ServerOptions& options) {
    state_.log_settings.news = options.log_news;
    state_.log_settings.verbose_level = options.log_verbose_level;
    state_.access_log = options.access_log;
    state_.tracing.directory = options.trace_directory;
    if (options.log == nullptr) return;
    state_.log = [this, log = options.log](const LogRecord& record) {
      if (state_.log_settings.Takes(record.level)) log(record);
    };
  }

  // A model that the server begins with is loaded, or is not.
  void Note(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    if (first_error_.ok()) first_error_ = status;
    if (!status.ok()) state_.load_failed = true;
    --state_.loading;
  }

  ServerState state_;
  mutable std::mutex mutex_;
  absl::Status first_error_;  // guarded by mutex_
  std::unique_ptr<HttpServer> http_;
  std::optional<IdleTimer> idle_timer_;
  std::unique_ptr<Listener> grpc_;  // null: HTTP is the only way in
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    std::vector<std::shared_ptr<ServedModel>> models, const ServerOptions& options) {
  auto server = std::make_unique<InferenceServer>();
  if (absl::Status status = server->Open(std::move(models), options); !status.ok()) return status;
  return server;
}

}  // namespace onward::serving
