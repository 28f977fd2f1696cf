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
#include "cli/serve_options.h"
#include "onward/log.h"
#include "onward/session.h"
#include "onward/status.h"

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

// Returns once all models are loaded, or an interrupt came.
absl::Status LoadModels(const std::vector<std::string>& arguments, serving::Server& server) {
  std::vector<serving::ModelSource> sources;
  for (const std::string& argument : arguments) sources.push_back(SourceOf(argument));
  ONWARD_RETURN_IF_ERROR(server.Load(sources));
  while (Interrupted() == 0) {
    if (const std::optional<absl::Status> loaded = server.Loaded()) return *loaded;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return absl::OkStatus();
}

void PrintModels(const serving::ServerOptions& options, const serving::Server& server) {
  const CurlCall curl = CurlTo(options.address);
  const char* key = options.keys.api ? " -H \"Authorization: Bearer $KEY\"" : "";
  std::set<std::string> names;
  std::string lines;
  for (const auto& model : server.ready_models())
    if (names.insert(model->name()).second)
      absl::StrAppend(&lines, model->CurlLine(curl.command, curl.url), key, "\n");
  std::printf("serving %zu model%s on %s\n%s", names.size(), names.size() == 1 ? "" : "s",
              UrlOf(options.address).c_str(), lines.c_str());
  std::fflush(stdout);
}

absl::Status Serve(const ServeFlags& flags, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(ServeOptions options, ReadServeOptions(flags, common));
  SessionOptions session = common.session();
  // One row alone and in a batch may differ in the last bits.
  session.check_rows = !common.deterministic;
  session.pool = std::make_shared<ThreadPool>(options.server.scheduling.cores);
  // Served models own their bytes: files may be overwritten in place.
  session.copy_weights = true;
  options.server.load_session = [session](const std::string& path) {
    return Session::Load(path, session);
  };
  options.server.log = LogToStandardError();
  IgnoreBrokenPipes();
  NoteInterrupts(/*announce=*/false);
  ONWARD_ASSIGN_OR_RETURN(const auto server, serving::Server::Start({}, options.server));
  options.server.address.port = server->port();
  ONWARD_RETURN_IF_ERROR(LoadModels(options.models, *server));
  if (Interrupted() == 0) PrintModels(options.server, *server);
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
