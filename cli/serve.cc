// onward serve: models behind HTTP, by the Open Inference Protocol v2.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "cli/interrupts.h"
#include "onward/session.h"
#include "onward/status.h"
#include "onward/version.h"
#include "serving/server.h"

namespace onward::cli {
namespace {

using serving::ServedModel;

struct Options {
  std::vector<std::string> models;
  std::string http = "127.0.0.1:8000";
  uint64_t max_body = 64'000'000;
  std::string max_wait = "2s";
  std::string drain_timeout = "30s";
  std::string api_key_file, admin_key_file;
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

// "2s", "500ms", "1m"; a number alone is seconds.
absl::StatusOr<std::chrono::microseconds> ReadDuration(const std::string& flag,
                                                       const std::string& text) {
  absl::Duration duration;
  const bool read =
      absl::ParseDuration(text, &duration) || absl::ParseDuration(text + "s", &duration);
  if (read && duration >= absl::ZeroDuration() && duration <= absl::Hours(24))
    return absl::ToChronoMicroseconds(duration);
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": '", text, "' is not a duration from 0 to 24h, such as 2s or 500ms"));
}

// "MODEL" by the file's name, or "NAME=MODEL".
absl::StatusOr<std::shared_ptr<ServedModel>> LoadModel(const std::string& argument,
                                                       const SessionOptions& session) {
  const size_t equals = argument.find('=');
  const bool named = equals != argument.npos && !std::filesystem::exists(argument);
  const std::string path = named ? argument.substr(equals + 1) : argument;
  const std::string name =
      named ? argument.substr(0, equals) : std::filesystem::path(path).stem().string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return absl::UnimplementedError(
        absl::StrCat("'", path, "' is a directory: name the .onnx files"));
  ONWARD_ASSIGN_OR_RETURN(std::unique_ptr<Session> loaded, Session::Load(path, session));
  absl::StatusOr<std::shared_ptr<ServedModel>> model = ServedModel::Create(name, std::move(loaded));
  return model.ok() ? model : Annotate(model.status(), absl::StrCat("'", path, "':"));
}

absl::StatusOr<std::vector<std::shared_ptr<ServedModel>>> LoadModels(
    const Options& options, const SessionOptions& session) {
  std::vector<std::shared_ptr<ServedModel>> models;
  for (const std::string& argument : options.models) {
    ONWARD_ASSIGN_OR_RETURN(models.emplace_back(), LoadModel(argument, session));
  }
  return models;
}

// Nothing where no file is named.
absl::StatusOr<std::optional<serving::KeyList>> ReadKeys(const char* option,
                                                         const std::string& path) {
  if (path.empty()) return std::optional<serving::KeyList>();
  absl::StatusOr<serving::KeyList> keys = serving::KeyList::Read(path);
  if (!keys.ok()) return Annotate(keys.status(), absl::StrCat(option, ":"));
  if (keys->others_may_read())
    std::fprintf(stderr, "warning: every user of this machine may read '%s': chmod o-r\n",
                 path.c_str());
  return std::optional<serving::KeyList>(*std::move(keys));
}

absl::Status Serve(const Options& options, const CommonOptions& common) {
  serving::ServerOptions server_options;
  ONWARD_RETURN_IF_ERROR(ReadAddress(options.http, server_options));
  server_options.limits.body_bytes = static_cast<int64_t>(options.max_body);
  ONWARD_ASSIGN_OR_RETURN(server_options.scheduling.max_wait,
                          ReadDuration("--max-wait", options.max_wait));
  ONWARD_ASSIGN_OR_RETURN(const std::chrono::microseconds drain,
                          ReadDuration("--drain-timeout", options.drain_timeout));
  ONWARD_ASSIGN_OR_RETURN(server_options.keys.api,
                          ReadKeys("--api-key-file", options.api_key_file));
  ONWARD_ASSIGN_OR_RETURN(server_options.keys.admin,
                          ReadKeys("--admin-key-file", options.admin_key_file));
  SessionOptions session = common.session();
  // One row alone and in a batch may differ in the last bits.
  session.check_rows = !common.deterministic;
  server_options.scheduling.cores = common.threads > 0 ? common.threads : PhysicalCores();
  // One pool for all: a run that finds it busy computes in its own thread.
  session.pool = std::make_shared<ThreadPool>(server_options.scheduling.cores);
  server_options.version =
      absl::StrCat(ONWARD_VERSION_MAJOR, ".", ONWARD_VERSION_MINOR, ".", ONWARD_VERSION_PATCH);
  ONWARD_ASSIGN_OR_RETURN(const auto models, LoadModels(options, session));
  IgnoreBrokenPipes();
  NoteInterrupts(/*announce=*/false);
  ONWARD_ASSIGN_OR_RETURN(const auto server, serving::Server::Start(models, server_options));
  const std::string host = server_options.host.find(':') == std::string::npos
                               ? server_options.host
                               : absl::StrCat("[", server_options.host, "]");
  const std::string url = absl::StrCat("http://", host, ":", server->port());
  std::printf("serving %zu model%s on %s\n", models.size(), models.size() == 1 ? "" : "s",
              url.c_str());
  const char* key = server_options.keys.api ? " -H \"Authorization: Bearer $KEY\"" : "";
  for (const auto& model : models) std::printf("%s%s\n", model->CurlLine(url).c_str(), key);
  std::fflush(stdout);
  while (Interrupted() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::fprintf(stderr, "stopping: requests under way are answered\n");
  if (server->Stop(std::chrono::ceil<std::chrono::seconds>(drain))) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("some requests were not answered within ",
                                                  options.drain_timeout, " (--drain-timeout)"));
}

}  // namespace

void AddServe(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  Command command = NewCommand(line, common, "serve", "Serves models over HTTP",
                               "onward serve mnist.onnx digits=other/model.onnx");
  command.Option("models", options->models, "ONNX files, [NAME=]MODEL", {.required = true});
  command.Option("--http", options->http, "HOST:PORT to listen on (default: 127.0.0.1:8000)");
  command.Option("--max-body", options->max_body, "the largest request (default: 64MB)",
                 {.bytes = true});
  command.Option("--max-wait", options->max_wait,
                 "how long a request may wait for its turn; one that would wait longer is refused "
                 "at once (default: 2s)");
  command.Option("--api-key-file", options->api_key_file,
                 "keys of which inference needs one, a line each (default: it needs none)");
  command.Option("--admin-key-file", options->admin_key_file,
                 "keys of administrators (default: nobody may administer)");
  command.Option("--drain-timeout", options->drain_timeout,
                 "how long requests under way may take once the server stops (default: 30s)");
  command.Do([=, &common] { return Serve(*options, common); });
}

}  // namespace onward::cli
