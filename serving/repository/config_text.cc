#include "serving/repository/config_text.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onward::serving {
namespace {

constexpr int kMostNesting = 64;

class Messages : public google::protobuf::io::ErrorCollector {
 public:
  Messages(std::string_view name, const LogSink& log) : name_(name), log_(log) {}

  // Lines and columns are counted from 0.
  void AddError(int line, int column, const std::string& message) override {
    if (error.empty())
      error = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  void AddWarning(int line, int, const std::string& message) override {
    Warn(log_, "serving",
         absl::StrCat("model '", std::string(name_), "': config.pbtxt, line ", line + 1, ": ",
                      message));
  }

  std::string error;

 private:
  std::string_view name_;
  const LogSink& log_;
};

absl::Status CheckSize(std::string_view text) {
  if (text.size() <= kMostConfigBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the model's configuration has ", text.size(),
                                                 " bytes, at most ", kMostConfigBytes,
                                                 " are read"));
}

}  // namespace

std::shared_ptr<config::ModelConfig> NewConfig() {
  auto arena = std::make_shared<google::protobuf::Arena>();
  auto* const config = google::protobuf::Arena::CreateMessage<config::ModelConfig>(arena.get());
  return {std::move(arena), config};
}

absl::StatusOr<config::ModelConfig> ReadConfigText(std::string_view text, std::string_view name,
                                                   const LogSink& log) {
  if (absl::Status status = CheckSize(text); !status.ok()) return status;
  Messages messages(name, log);
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kMostNesting);
  parser.RecordErrorsTo(&messages);
  const std::shared_ptr<config::ModelConfig> config = NewConfig();
  if (parser.ParseFromString(std::string(text), config.get())) return *config;
  return absl::InvalidArgumentError(absl::StrCat("config.pbtxt: ", messages.error));
}

absl::StatusOr<config::ModelConfig> ReadConfigFile(const std::string& directory,
                                                   std::string_view name, const LogSink& log) {
  const std::filesystem::path path = std::filesystem::path(directory) / "config.pbtxt";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return config::ModelConfig();
  std::ifstream file(path, std::ios::binary);
  std::string text;
  // A byte more than is read tells that there is more.
  text.resize(kMostConfigBytes + 1);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return ReadConfigText(text, name, log);
}

absl::StatusOr<config::ModelConfig> ReadConfigJson(std::string_view json, std::string_view name,
                                                   const LogSink& log) {
  if (absl::Status status = CheckSize(json); !status.ok()) return status;
  const std::shared_ptr<config::ModelConfig> config = NewConfig();
  google::protobuf::util::JsonParseOptions options;
  const google::protobuf::StringPiece text(json.data(), json.size());
  const auto strict = google::protobuf::util::JsonStringToMessage(text, config.get(), options);
  if (strict.ok()) return *config;
  config->Clear();
  options.ignore_unknown_fields = true;
  const auto lenient = google::protobuf::util::JsonStringToMessage(text, config.get(), options);
  const auto words = [](const auto& status) {
    return std::string(status.message().data(), status.message().size());
  };
  if (!lenient.ok())
    return absl::InvalidArgumentError(absl::StrCat("parameters.config: ", words(lenient)));
  Warn(log, "serving",
       absl::StrCat("model '", std::string(name), "': parameters.config: ", words(strict)));
  return *config;
}

}  // namespace onward::serving
