#include "training/trainer/same_training.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/utf8.h"
#include "google/protobuf/text_format.h"
#include "onward/status.h"
#include "onward/train_config.h"
#include "training/config/config_differences.h"
#include "training/config/make_optimizer.h"
#include "training/data/data_identity.h"

namespace onward::training {
namespace {

using Fields = std::map<std::string, std::string>;

constexpr const char* kFixed[] = {"seed", "batch_size", "accumulate", "optimizer"};

std::string AbsolutePath(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::absolute(path.empty() ? "." : path, ignored).lexically_normal();
}

// The identities of the files that the config names.
Fields Contents(const TrainConfig& config, const std::string& directory,
                const std::string& data_directory) {
  Fields contents;
  const std::filesystem::path base(directory);
  for (const auto& [path, value] : DataIdentity(config.data(), data_directory))
    contents["data." + path] = value;
  if (config.has_evaluation()) {
    for (const auto& [path, value] : DataIdentity(config.evaluation().data(), data_directory))
      contents["evaluation.data." + path] = value;
  }
  if (config.has_model()) contents["model"] = ContentsOf(base / config.model());
  if (config.has_weights()) contents["weights.path"] = ContentsOf(base / config.weights().path());
  return contents;
}

// None where the values have no config.
absl::StatusOr<Fields> ConfigFields(const Fields& values) {
  const auto text = values.find("config");
  if (text == values.end()) return Fields();
  ONWARD_ASSIGN_OR_RETURN(TrainConfig config, ParseTrainConfig(text->second));
  config.clear_output_dir();
  return FieldsOf(config);
}

// The differences between the config of the checkpoint and that of now. A config of an earlier
// version may not be readable any more.
absl::StatusOr<std::vector<std::string>> ConfigChanges(const Fields& before, const Fields& now) {
  ONWARD_ASSIGN_OR_RETURN(const Fields old_fields, ConfigFields(before));
  ONWARD_ASSIGN_OR_RETURN(const Fields fields, ConfigFields(now));
  if (old_fields.empty()) return std::vector<std::string>();
  return DifferencesOf(old_fields, fields);
}

Fields ContentFields(const Fields& values) {
  const auto text = values.find("contents");
  if (text == values.end()) return {};
  const auto parsed = nlohmann::json::parse(text->second, nullptr, false);
  Fields fields;
  for (const auto& [path, value] : parsed.items())
    if (value.is_string()) fields[path] = value.get<std::string>();
  return fields;
}

bool IsData(const std::string& difference) {
  return absl::StartsWith(difference, "data.") || absl::StartsWith(difference, "evaluation.data.");
}

bool HasEvaluation(const Fields& fields) {
  const auto first = fields.lower_bound("evaluation.");
  return first != fields.end() && absl::StartsWith(first->first, "evaluation.");
}

}  // namespace

std::map<std::string, std::string> DescribeTraining(const TrainConfig& config,
                                                    const std::string& directory,
                                                    const std::string& data_directory) {
  Fields values = {{"seed", absl::StrCat(config.seed())},
                   {"batch_size", absl::StrCat(config.batch_size())},
                   {"accumulate", absl::StrCat(config.accumulate())},
                   {"optimizer", OptimizerName(config.optimizer())}};
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.PrintToString(config, &values["config"]);
  const std::string absolute = AbsolutePath(directory);
  if (files::IsUtf8(absolute)) values["directory"] = absolute;
  const std::string data = AbsolutePath(data_directory);
  if (files::IsUtf8(data)) values["data_directory"] = data;
  const nlohmann::json contents = Contents(config, directory, data_directory);
  values["contents"] = contents.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return values;
}

absl::Status CheckSameTraining(const std::map<std::string, std::string>& before,
                               const std::map<std::string, std::string>& now, bool allow_other_data,
                               const LogSink& log) {
  for (const char* name : kFixed) {
    const auto was = before.find(name), is = now.find(name);
    if (was == before.end() || is == now.end() || was->second == is->second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("is of ", name, " ", was->second, ", the config has ", is->second));
  }
  std::vector<std::string> changes, data;
  const absl::StatusOr<std::vector<std::string>> found = ConfigChanges(before, now);
  if (found.ok()) {
    changes = *found;
  } else {
    Warn(log, "checkpoint",
         absl::StrCat("the checkpoint's config is written as an earlier version read it (",
                      found.status().message(),
                      "), so that changes since then are not listed; the config of now holds"));
  }
  Fields old_contents = ContentFields(before), contents = ContentFields(now);
  const bool both_evaluate = HasEvaluation(old_contents) && HasEvaluation(contents);
  if (!old_contents.empty()) {
    for (const std::string& difference : DifferencesOf(old_contents, contents)) {
      const bool of_evaluation = absl::StartsWith(difference, "evaluation.");
      if (IsData(difference) && (both_evaluate || !of_evaluation)) {
        data.push_back(difference);
      } else if (std::find(changes.begin(), changes.end(), difference) == changes.end() &&
                 !of_evaluation) {
        changes.push_back("contents of " + difference);
      }
    }
  }
  if (!data.empty() && !allow_other_data) {
    return absl::InvalidArgumentError(
        absl::StrCat("is of other data: ", absl::StrJoin(data, "; "),
                     ". Resume with the data that it had, or ask for these by --allow-other-data"));
  }
  for (const std::string& each : data)
    if (std::find(changes.begin(), changes.end(), each) == changes.end()) changes.push_back(each);
  if (!changes.empty()) {
    Warn(
        log, "checkpoint",
        absl::StrCat("since the checkpoint this has changed:\n  ", absl::StrJoin(changes, "\n  ")));
  }
  return absl::OkStatus();
}

}  // namespace onward::training
