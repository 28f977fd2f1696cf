#include "onward/train_config.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "files/file_kind.h"
#include "onward/status.h"
#include "training/config/check_config.h"
#include "training/config/field_places.h"
#include "training/config/set_field.h"

namespace onward {
namespace {

namespace proto = google::protobuf;

// The first error of the parser.
class FirstError : public proto::io::ErrorCollector {
 public:
  explicit FirstError(std::string path) : path_(std::move(path)) {}
  void AddError(int line, int column, const std::string& message) override {
    if (status_.ok()) status_ = training::ErrorAt(path_, {line, column}, message);
  }
  const absl::Status& status() const { return status_; }

 private:
  std::string path_;
  absl::Status status_;
};

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot open the config '", path, "'"));
  std::ostringstream text;
  text << file.rdbuf();
  const std::string found = files::ForeignFile(text.str(), files::WantedFile::kConfig);
  if (!found.empty())
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a config but ", found));
  if (text.str().size() > (1 << 20))
    return absl::InvalidArgumentError(absl::StrCat("the config '", path, "' has more than 1 MiB"));
  return text.str();
}

absl::Status ReadJson(const std::string& path, const std::string& text, TrainConfig& config,
                      training::FieldPlaces& places) {
  try {
    const auto checked = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {  // says line and column
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
  }
  ONWARD_RETURN_IF_ERROR(training::ScanJson(path, text, *TrainConfig::descriptor(), places));
  const auto status = proto::util::JsonStringToMessage(text, &config);
  if (status.ok()) return absl::OkStatus();
  // "(loss.delta): what is wrong", "(data.mnist): missing field images".
  const std::string message = status.message().as_string();
  const size_t end = message.find("):");
  std::string field;
  if (message.starts_with("(") && end != message.npos) field = message.substr(1, end - 1);
  return training::ErrorAt(path, places.Of(field), std::string(absl::StripPrefix(message, ": ")));
}

absl::Status ReadTextFormat(const std::string& path, const std::string& text, TrainConfig& config,
                            training::FieldPlaces& places) {
  ONWARD_RETURN_IF_ERROR(training::ScanText(path, text, *TrainConfig::descriptor(), places));
  FirstError error(path);
  proto::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.AllowPartialMessage(true);  // CheckTrainConfig names what is missing
  parser.SetRecursionLimit(100);
  return parser.ParseFromString(text, &config) ? absl::OkStatus() : error.status();
}

}  // namespace

absl::StatusOr<TrainConfig> ParseTrainConfig(const std::string& text) {
  TrainConfig config;
  training::FieldPlaces places;
  ONWARD_RETURN_IF_ERROR(ReadTextFormat("", text, config, places));
  return config;
}

absl::StatusOr<TrainConfig> ReadTrainConfig(const std::string& path,
                                            const std::vector<std::string>& overrides) {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  TrainConfig config;
  training::FieldPlaces places;
  if (absl::EndsWith(path, ".json")) {
    ONWARD_RETURN_IF_ERROR(ReadJson(path, text, config, places));
  } else {
    ONWARD_RETURN_IF_ERROR(ReadTextFormat(path, text, config, places));
  }
  for (const std::string& each : overrides) {
    ONWARD_RETURN_IF_ERROR(
        Annotate(training::ApplyOverride(config, each), absl::StrCat("--set ", each, ":")));
  }
  const training::ConfigProblem problem = training::CheckTrainConfig(config);
  if (problem.field.empty()) return config;
  if (!overrides.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " with --set: ", problem.field, " ", problem.reason));
  }
  return training::ErrorAt(path, places.Of(problem.field),
                           absl::StrCat(problem.field, " ", problem.reason));
}

}  // namespace onward
