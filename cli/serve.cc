// onward serve: models behind HTTP, by the Open Inference Protocol v2.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "cli/interrupts.h"
#include "cli/serve_options.h"
#include "onward/session.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

using serving::ServedModel;

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
    const std::vector<std::string>& arguments, const SessionOptions& session) {
  std::vector<std::shared_ptr<ServedModel>> models;
  for (const std::string& argument : arguments) {
    ONWARD_ASSIGN_OR_RETURN(models.emplace_back(), LoadModel(argument, session));
  }
  return models;
}

absl::Status Serve(const ServeFlags& flags, const CommonOptions& common) {
  ONWARD_ASSIGN_OR_RETURN(ServeOptions options, ReadServeOptions(flags, common));
  SessionOptions session = common.session();
  // One row alone and in a batch may differ in the last bits.
  session.check_rows = !common.deterministic;
  session.pool = std::make_shared<ThreadPool>(options.server.scheduling.cores);
  ONWARD_ASSIGN_OR_RETURN(const auto models, LoadModels(options.models, session));
  IgnoreBrokenPipes();
  NoteInterrupts(/*announce=*/false);
  ONWARD_ASSIGN_OR_RETURN(const auto server, serving::Server::Start(models, options.server));
  options.server.address.port = server->port();
  std::printf("serving %zu model%s on %s\n", models.size(), models.size() == 1 ? "" : "s",
              UrlOf(options.server.address).c_str());
  const CurlCall curl = CurlTo(options.server.address);
  const char* key = options.server.keys.api ? " -H \"Authorization: Bearer $KEY\"" : "";
  for (const auto& model : models)
    std::printf("%s%s\n", model->CurlLine(curl.command, curl.url).c_str(), key);
  std::fflush(stdout);
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
