#include "serving/repository/ensemble.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/rewrite/compose.h"
#include "graph/rewrite/cut_zip_maps.h"
#include "onward/status.h"
#include "serving/repository/config_text.h"
#include "serving/repository/directory_names.h"
#include "serving/repository/without_path.h"

namespace onward::serving {
namespace {

namespace fs = std::filesystem;
using Step = config::EnsembleScheduling::Step;

// Reads ensembles within ensembles, whose names it keeps.
class Reader {
 public:
  explicit Reader(const LoadContext& context) : context_(context) {}

  absl::StatusOr<ReadEnsembleModel> Read(const std::string& name,
                                         const config::ModelConfig& config) {
    if (config.ensemble_scheduling().step().empty() || config.input().empty() ||
        config.output().empty())
      return absl::InvalidArgumentError(
          "the configuration of an ensemble needs input, output and ensemble_scheduling { step }");
    within_.push_back(name);
    Composition composition;
    composition.one_batch = config.max_batch_size() > 0;
    for (const config::Input& input : config.input()) composition.inputs.push_back(input.name());
    for (const config::Output& output : config.output())
      composition.outputs.push_back(output.name());
    Labels labels;
    for (const Step& step : config.ensemble_scheduling().step()) {
      absl::StatusOr<ReadEnsembleModel> member = Member(step);
      if (!member.ok())
        return Annotate(member.status(), absl::StrCat("step '", step.model_name(), "':"));
      for (const auto& [output, tensor] : step.output_map()) {
        const auto found = member->labels.find(output);
        if (found != member->labels.end()) labels[tensor] = found->second;
      }
      composition.steps.push_back({NameOf(step, composition),
                                   std::move(member->model),
                                   {step.input_map().begin(), step.input_map().end()},
                                   {step.output_map().begin(), step.output_map().end()}});
    }
    within_.pop_back();
    ONWARD_ASSIGN_OR_RETURN(Model model, Compose(std::move(composition)));
    return ReadEnsembleModel{std::move(model), std::move(labels)};
  }

 private:
  // A model may be a step twice.
  static std::string NameOf(const Step& step, const Composition& composition) {
    const auto same = [&](const CompositionStep& each) { return each.name == step.model_name(); };
    const bool again = std::any_of(composition.steps.begin(), composition.steps.end(), same);
    return again ? absl::StrCat(step.model_name(), ".", composition.steps.size())
                 : step.model_name();
  }

  absl::StatusOr<ReadEnsembleModel> Member(const Step& step) {
    const std::string& name = step.model_name();
    if (std::find(within_.begin(), within_.end(), name) != within_.end())
      return absl::InvalidArgumentError(absl::StrCat("an ensemble cannot be a step of itself: '",
                                                     absl::StrJoin(within_, "' > '"), "' > '", name,
                                                     "'"));
    if (context_.find == nullptr)
      return absl::UnimplementedError("this server has no repository of models");
    ONWARD_ASSIGN_OR_RETURN(const ModelSource source, context_.find(name));
    absl::StatusOr<ReadEnsembleModel> member = ReadMember(source, step.model_version());
    if (member.ok()) return member;
    return WithoutPath(member.status(), source.path);
  }

  absl::StatusOr<ReadEnsembleModel> ReadMember(const ModelSource& source, int64_t version) {
    ONWARD_ASSIGN_OR_RETURN(config::ModelConfig config,
                            ReadConfigFile(source.path, source.name, context_.log));
    if (config.has_sequence_batching())
      return absl::UnimplementedError("a model with sequence_batching cannot be a step");
    ReadEnsembleModel member;
    if (config.has_ensemble_scheduling()) {
      ONWARD_ASSIGN_OR_RETURN(member, Read(source.name, config));
    } else {
      if (version > 0) {
        config.mutable_version_policy()->mutable_specific()->clear_versions();
        config.mutable_version_policy()->mutable_specific()->add_versions(version);
      }
      ONWARD_ASSIGN_OR_RETURN(const auto files, VersionsOf(source, config));
      ONWARD_ASSIGN_OR_RETURN(member.model, context_.load_session.import(files.rbegin()->second));
      member.labels = CutZipMaps(member.model.graph);
    }
    ONWARD_ASSIGN_OR_RETURN(Labels labels, ReadLabels(config, source.path));
    labels.merge(LabelsInMetadata(member.model.metadata));
    labels.merge(member.labels);
    member.labels = std::move(labels);
    return member;
  }

  const LoadContext& context_;
  std::vector<std::string> within_;  // ensembles, the outermost first
};

}  // namespace

absl::StatusOr<ReadEnsembleModel> ReadEnsemble(const ModelSource& source,
                                               const config::ModelConfig& config,
                                               const LoadContext& context) {
  return Reader(context).Read(source.name, config);
}

int64_t EnsembleVersion(const ModelSource& source) {
  int64_t highest = 1;
  const auto names = NamesIn(source.path);
  if (!names.ok()) return highest;
  for (const std::string& name : *names) {
    int64_t version = 0;
    std::error_code ignored;
    if (absl::SimpleAtoi(name, &version) && fs::is_directory(fs::path(source.path) / name, ignored))
      highest = std::max(highest, version);
  }
  return highest;
}

}  // namespace onward::serving
