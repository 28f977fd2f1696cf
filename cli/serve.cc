// onward serve: models behind HTTP, by the Open Inference Protocol v2.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "cli/interrupts.h"
#include "cli/serve_check.h"
#include "cli/serve_options.h"
#include "graph/base/machine_memory.h"
#include "onward/generation/batch_generator.h"
#include "onward/import.h"
#include "onward/log.h"
#include "onward/memory_limit.h"
#include "onward/session.h"
#include "onward/status.h"
#include "serving/http/room_for_connections.h"
#include "serving/memory_reserve.h"

namespace onward::cli {
namespace {

// "MODEL" by the name of the file or directory, or "NAME=MODEL".
serving::ModelSource SourceOf(const std::string& argument) {
  const size_t equals = argument.find('=');
  std::error_code ignored;
  const bool named = equals != argument.npos && !std::filesystem::exists(argument, ignored);
  if (!named) return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

std::vector<serving::ModelSource> SourcesOf(const std::vector<std::string>& arguments) {
  std::vector<serving::ModelSource> sources;
  for (const std::string& argument : arguments) sources.push_back(SourceOf(argument));
  return sources;
}

// Returns once all models are loaded, or an interrupt came.
absl::Status LoadModels(const std::vector<serving::ModelSource>& sources, serving::Server& server) {
  ONWARD_RETURN_IF_ERROR(server.Load(sources));
  while (Interrupted() == 0) {
    if (const std::optional<absl::Status> loaded = server.Loaded()) return *loaded;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return absl::OkStatus();
}

void PrintModels(const ServeOptions& serve, const serving::Server& server) {
  const serving::ServerOptions& options = serve.server;
  const CurlCall curl = CurlTo(options.address);
  const char* key = options.keys.api ? " -H \"Authorization: Bearer $KEY\"" : "";
  std::set<std::string> names;
  std::string lines;
  for (const auto& model : server.ready_models())
    if (names.insert(model->name()).second)
      absl::StrAppend(&lines, model->CurlLine(curl.command, curl.url), key, "\n");
  std::printf("serving %zu model%s on %s%s\n%s", names.size(), names.size() == 1 ? "" : "s",
              UrlOf(options.address).c_str(),
              serve.grpc ? absl::StrCat(" and by gRPC on ", HostAndPort(*serve.grpc)).c_str() : "",
              lines.c_str());
  std::fflush(stdout);
}

absl::StatusOr<std::unique_ptr<generation::BatchGenerator>> LoadGenerator(
    const std::string& path, int64_t context, const serving::SessionLoader& loader,
    const SessionOptions& session) {
  ONWARD_ASSIGN_OR_RETURN(Model model, loader.import(path));
  generation::BatchGeneratorOptions options;
  options.context = context;
  if (loader.deterministic) options.rows = 1;
  options.shares_prefixes = !loader.deterministic;
  return generation::BatchGenerator::Create(std::move(model), session, options);
}

// Served models own their bytes: files may be overwritten in place.
void SetLoaders(const CommonOptions& common, serving::ServerOptions& options) {
  SessionOptions session = common.session();
  session.check_rows = true;
  // Batches of each number of rows have a plan of their own.
  session.max_bindings = 80;
  session.pool = std::make_shared<ThreadPool>(options.scheduling.cores);
  session.memory =
      std::make_shared<MemoryLimit>(session.max_memory > 0 ? session.max_memory : MachineMemory());
  serving::SessionLoader loader;
  loader.deterministic = common.deterministic;
  loader.import = [memory = session.memory](const std::string& path) {
    const MemoryScope scope(memory);
    ImportOptions import;
    import.copy_weights = true;
    return ImportFile(path, import);
  };
  loader.provider = common.provider;
  loader.create = [session](Model model, const std::string& provider) {
    SessionOptions own = session;
    own.provider = provider;
    return Session::Create(std::move(model), own);
  };
  options.load_session = loader;
  options.load_generator = [loader, session](const std::string& path, int64_t context) {
    return LoadGenerator(path, context, loader, session);
  };
}

void MakeRoomForConnections(serving::ServerOptions& options) {
  const int wanted = options.limits.connections;
  if (serving::MakeRoomForConnections(options.limits)) return;
  Warn(options.log, "server",
       absl::StrCat("the system lets this process open so few files that the server takes ",
                    options.limits.connections, " connections at a time, not ", wanted,
                    ": raise the limit (ulimit -Hn, or LimitNOFILE of a systemd unit)"));
}

absl::Status Serve(const ServeFlags& flags, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(ServeOptions options, ReadServeOptions(flags, common));
  SetLoaders(common, options.server);
  options.server.log = LogToStandardError();
  if (flags.check) return CheckServed(SourcesOf(options.models), options.server, common.json);
  IgnoreBrokenPipes();
  serving::KeepMemoryReserve();
  NoteInterrupts(/*announce=*/false);
  MakeRoomForConnections(options.server);
  ONWARD_ASSIGN_OR_RETURN(const auto server, serving::Server::Start({}, options.server));
  options.server.address.port = server->port();
  if (options.grpc) options.grpc->port = server->grpc_port();
  ONWARD_RETURN_IF_ERROR(LoadModels(SourcesOf(options.models), *server));
  if (Interrupted() == 0) PrintModels(options, *server);
  while (Interrupted() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::fprintf(stderr, "stopping: requests under way are answered\n");
  if (server->Stop(std::chrono::ceil<std::chrono::seconds>(options.drain))) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("some requests were not answered within ",
                   absl::FormatDuration(absl::FromChrono(options.drain)), " (--drain-timeout)"));
}

}  // namespace

void AddServe(CommandLine& line, CommonOptions& common) {
  auto flags = std::make_shared<ServeFlags>();
  Command command = NewCommand(line, common, "serve", "Serves models over HTTP",
                               "onward serve mnist.onnx digits=other/model.onnx");
  AddServeFlags(command, *flags);
  command.Do([=, &common] { return Serve(*flags, common); },
             [=] { return flags->models.empty() && flags->config.empty() ? "a model" : ""; });
}

}  // namespace onward::cli
