#include "training/config/read_config.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "files/file_kind.h"
#include "graph/base/status.h"
#include "training/config/check_config.h"
#include "training/config/json_places.h"
#include "training/config/set_field.h"

namespace onward {
namespace {

namespace proto = google::protobuf;

absl::Status At(const std::string& path, int line, int column, const std::string& message) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ":", line + 1, ":", column + 1, ": ", message));
}

// The first error of the parser.
class FirstError : public proto::io::ErrorCollector {
 public:
  explicit FirstError(std::string path) : path_(std::move(path)) {}
  void AddError(int line, int column, const std::string& message) override {
    if (status_.ok()) status_ = At(path_, line, column, message);
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
  const std::string found = ForeignFile(text.str(), WantedFile::kConfig);
  if (!found.empty())
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a config but ", found));
  if (text.str().size() > (1 << 20))
    return absl::InvalidArgumentError(absl::StrCat("the config '", path, "' has more than 1 MiB"));
  return text.str();
}

absl::Status ReadJson(const std::string& path, const std::string& text, TrainConfig& config,
                      JsonPlaces& places) {
  try {
    const auto checked = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {  // says line and column
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
  }
  ONWARD_RETURN_IF_ERROR(places.Scan(path, text, *TrainConfig::descriptor()));
  const auto status = proto::util::JsonStringToMessage(text, &config);
  if (status.ok()) return absl::OkStatus();
  // "(loss.delta): what is wrong", "(data.mnist): missing field images".
  const std::string message = status.message().as_string();
  const size_t end = message.find("):");
  std::string field;
  if (message.starts_with("(") && end != message.npos) field = message.substr(1, end - 1);
  const JsonPlaces::Place place = places.Of(field);
  return At(path, place.line, place.column, std::string(absl::StripPrefix(message, ": ")));
}

// Where the text has the field "a.b[2].c", or the innermost field around it that it has.
proto::TextFormat::ParseLocation Locate(const proto::TextFormat::ParseInfoTree& root,
                                        const std::string& path) {
  proto::TextFormat::ParseLocation found(0, 0);
  const proto::TextFormat::ParseInfoTree* tree = &root;
  const proto::Descriptor* type = TrainConfig::descriptor();
  const std::vector<std::string> names = absl::StrSplit(path, '.');
  for (std::string name : names) {
    int index = -1;
    if (const size_t bracket = name.find('['); bracket != std::string::npos) {
      (void)absl::SimpleAtoi(name.substr(bracket + 1, name.size() - bracket - 2), &index);
      name.resize(bracket);
    }
    const proto::FieldDescriptor* field = type->FindFieldByName(name);
    if (field == nullptr) return found;
    const int place = field->is_repeated() && index < 0 ? 0 : index;
    const auto location = tree->GetLocation(field, place);
    if (location.line < 0) return found;
    found = location;
    if (field->message_type() == nullptr) return found;
    tree = tree->GetTreeForNested(field, place);
    if (tree == nullptr) return found;
    type = field->message_type();
  }
  return found;
}

}  // namespace

absl::StatusOr<TrainConfig> ReadTrainConfig(const std::string& path,
                                            const std::vector<std::string>& overrides) {
  ONWARD_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  TrainConfig config;
  proto::TextFormat::ParseInfoTree tree;
  JsonPlaces places;
  const bool json = absl::EndsWith(path, ".json");
  if (json) {
    ONWARD_RETURN_IF_ERROR(ReadJson(path, text, config, places));
  } else {
    FirstError error(path);
    proto::TextFormat::Parser parser;
    parser.RecordErrorsTo(&error);
    parser.WriteLocationsTo(&tree);
    if (!parser.ParseFromString(text, &config)) return error.status();
  }
  for (const std::string& each : overrides) {
    ONWARD_RETURN_IF_ERROR(
        Annotate(ApplyOverride(config, each), absl::StrCat("--set ", each, ":")));
  }
  const ConfigProblem problem = CheckTrainConfig(config);
  if (problem.field.empty()) return config;
  if (!overrides.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " with --set: ", problem.field, " ", problem.reason));
  }
  const std::string what = absl::StrCat(problem.field, " ", problem.reason);
  if (json) {
    const JsonPlaces::Place place = places.Of(problem.field);
    return At(path, place.line, place.column, what);
  }
  const auto place = Locate(tree, problem.field);
  return At(path, place.line, place.column, what);
}

}  // namespace onward
