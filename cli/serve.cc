// onward serve: models behind HTTP, by the Open Inference Protocol v2.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/interrupts.h"
#include "onward/log.h"
#include "onward/session.h"
#include "onward/status.h"
#include "onward/version.h"
#include "serving/server.h"

namespace onward::cli {
namespace {

struct Options {
  std::vector<std::string> models;
  std::string http = "127.0.0.1:8000";
  uint64_t max_body = 64'000'000;
  int drain_timeout = 30;
};

// "127.0.0.1:8000", "[::1]:8000".
absl::Status ReadAddress(const std::string& text, serving::ServerOptions& options) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || !absl::SimpleAtoi(text.substr(colon + 1), &options.port) ||
      options.port < 0 || options.port > 65535)
    return absl::InvalidArgumentError(
        absl::StrCat("--http: '", text, "' is not HOST:PORT, such as 127.0.0.1:8000"));
  options.host = text.substr(0, colon);
  if (options.host.size() > 2 && options.host.front() == '[' && options.host.back() == ']')
    options.host = options.host.substr(1, options.host.size() - 2);
  return absl::OkStatus();
}

// "MODEL" by the name of the file or directory, or "NAME=MODEL".
serving::ModelSource SourceOf(const std::string& argument) {
  const size_t equals = argument.find('=');
  std::error_code ignored;
  const bool named = equals != argument.npos && !std::filesystem::exists(argument, ignored);
  if (!named) return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

// Returns once all models are loaded, or an interrupt came.
absl::Status LoadModels(const Options& options, serving::Server& server) {
  std::vector<serving::ModelSource> sources;
  for (const std::string& argument : options.models) sources.push_back(SourceOf(argument));
  ONWARD_RETURN_IF_ERROR(server.Load(sources));
  while (Interrupted() == 0) {
    if (const std::optional<absl::Status> loaded = server.Loaded()) return *loaded;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return absl::OkStatus();
}

void PrintModels(const std::string& url, const serving::Server& server) {
  std::set<std::string> names;
  std::string lines;
  for (const auto& model : server.ready_models())
    if (names.insert(model->name()).second) absl::StrAppend(&lines, model->CurlLine(url), "\n");
  std::printf("serving %zu model%s on %s\n%s", names.size(), names.size() == 1 ? "" : "s",
              url.c_str(), lines.c_str());
  std::fflush(stdout);
}

absl::Status Serve(const Options& options, const CommonOptions& common) {
  serving::ServerOptions server_options;
  ONWARD_RETURN_IF_ERROR(ReadAddress(options.http, server_options));
  server_options.limits.body_bytes = static_cast<int64_t>(options.max_body);
  SessionOptions session = common.session();
  server_options.threads = common.threads > 0 ? common.threads : PhysicalCores();
  // One pool for all: a run that finds it busy computes in its own thread.
  session.pool = std::make_shared<ThreadPool>(server_options.threads);
  server_options.version =
      absl::StrCat(ONWARD_VERSION_MAJOR, ".", ONWARD_VERSION_MINOR, ".", ONWARD_VERSION_PATCH);
  // Served models own their bytes: files may be overwritten in place.
  session.copy_weights = true;
  server_options.load_session = [session](const std::string& path) {
    return Session::Load(path, session);
  };
  server_options.log = LogToStandardError(common.verbose ? LogLevel::kNews : LogLevel::kWarning);
  IgnoreBrokenPipes();
  NoteInterrupts(/*announce=*/false);
  ONWARD_ASSIGN_OR_RETURN(const auto server, serving::Server::Start({}, server_options));
  const std::string host = server_options.host.find(':') == std::string::npos
                               ? server_options.host
                               : absl::StrCat("[", server_options.host, "]");
  const std::string url = absl::StrCat("http://", host, ":", server->port());
  ONWARD_RETURN_IF_ERROR(LoadModels(options, *server));
  if (Interrupted() == 0) PrintModels(url, *server);
  while (Interrupted() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::fprintf(stderr, "stopping: requests under way are answered\n");
  if (server->Stop(std::chrono::seconds(options.drain_timeout))) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("some requests were not answered within ",
                                                  options.drain_timeout, " s (--drain-timeout)"));
}

}  // namespace

void AddServe(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  Command command = NewCommand(line, common, "serve", "Serves models over HTTP",
                               "onward serve mnist.onnx digits=other/model.onnx");
  command.Option("models", options->models, "[NAME=]MODEL: ONNX files, and directories of them",
                 {.required = true});
  command.Option("--http", options->http, "HOST:PORT to listen on (default: 127.0.0.1:8000)");
  command.Option("--max-body", options->max_body, "the largest request (default: 64MB)",
                 {.bytes = true});
  command.Option("--drain-timeout", options->drain_timeout,
                 "seconds for requests under way once the server stops", {.range = {0, 3600}});
  command.Do([=, &common] { return Serve(*options, common); });
}

}  // namespace onward::cli
