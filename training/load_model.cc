#include "training/load_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/name_pattern.h"
#include "graph/base/status.h"
#include "graph/builder/models/models.h"
#include "graph/builder/nn/module.h"
#include "graph/builder/nn/parameters.h"
#include "onnx_io/import.h"
#include "training/data/sources.h"
#include "training/head.h"
#include "training/merged_weights.h"
#include "training/state_dict.h"
#include "training/tied_weights.h"
#include "training/trainable.h"

namespace onward {
namespace {

absl::Status LoadWeights(const WeightsConfig& config, const std::string& directory, Model& model,
                         const std::function<void(const std::string& message)>& warn) {
  LoadOptions options;
  options.strict = !config.partial();
  for (const auto& each : config.rename())
    options.renames.emplace_back(each.pattern(), each.replacement());
  options.ignored = {config.ignored().begin(), config.ignored().end()};
  options.transposed = {config.transposed().begin(), config.transposed().end()};
  const std::string path = PathBelow(directory, config.path());
  const absl::StatusOr<LoadReport> report = LoadStateDict(model, path, options);
  if (!report.ok()) return Annotate(report.status(), "weights:");
  if (!report->complete() && warn) warn(absl::StrCat("weights: ", path, ": ", report->ToString()));
  return absl::OkStatus();
}

using Warning = std::function<void(const std::string& message)>;

// "'b' (of 'a'), 'd' (of 'c'), ..."
template <typename Each>
std::string Listed(const std::vector<Each>& all, std::string Each::*of) {
  std::string names;
  for (size_t i = 0; i < all.size() && i < 8; ++i)
    absl::StrAppend(&names, i == 0 ? "'" : ", '", all[i].name, "' (of '", all[i].*of, "')");
  if (all.size() > 8) absl::StrAppend(&names, ", ...");
  return names;
}

absl::Status UndoMerging(const TrainConfig& config, TrainableModel& loaded, const Warning& warn) {
  const std::vector<std::string> shared(config.shared().begin(), config.shared().end());
  ONWARD_RETURN_IF_ERROR(CheckPatterns(shared, "shared", loaded.initializers));
  const std::vector<SeparatedWeight> separated =
      SeparateMergedWeights(loaded.model.graph, loaded.initializers, shared);
  if (separated.empty() || !warn) return absl::OkStatus();
  warn(absl::StrCat("model: the exporter wrote weights of equal values once; ", separated.size(),
                    separated.size() == 1 ? " is" : " are",
                    " trained apart: ", Listed(separated, &SeparatedWeight::from), "; `shared: '",
                    separated[0].from, "'` keeps one as it is"));
  return absl::OkStatus();
}

absl::Status UndoUntying(const TrainConfig& config, TrainableModel& loaded, const Warning& warn) {
  std::vector<std::string> untied(config.untied().begin(), config.untied().end());
  ONWARD_RETURN_IF_ERROR(CheckPatterns(untied, "untied", loaded.initializers));
  // What the configuration names has to be there.
  for (const auto* patterns : {&config.trainable(), &config.frozen()}) {
    std::copy_if(patterns->begin(), patterns->end(), std::back_inserter(untied),
                 [](const std::string& each) { return each.find_first_of("*?") == each.npos; });
  }
  const std::vector<TiedWeight> tied =
      TieTransposedWeights(loaded.model.graph, loaded.initializers, untied);
  if (tied.empty() || !warn) return absl::OkStatus();
  warn(absl::StrCat(
      "model: the exporter untied weights that are transposes of embeddings; they "
      "are tied again: ",
      Listed(tied, &TiedWeight::embedding), "; `untied: '", tied[0].name, "'` trains one apart"));
  return absl::OkStatus();
}

// Fields that feed inputs which the model has not are a mistake.
absl::Status CheckInputs(const DataConfig& data, const char* field, const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs()) names.push_back(graph.value(id).name);
  for (const auto& [input, unused] : data.inputs()) {
    if (std::find(names.begin(), names.end(), input) != names.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(field, ": the model has no input '", input,
                                                   "'; it has ", absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

// A pattern that keeps nothing in inference form is a mistake.
absl::Status CheckInferenceMode(const TrainConfig& config, const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    names.push_back(node.name);
    for (const ValueId output : node.outputs)
      if (output.valid()) names.push_back(graph.value(output).name);
    for (const ValueId input : node.inputs)
      if (graph.is_constant(input)) names.push_back(graph.value(input).name);
  }
  for (const std::string& pattern : config.inference_mode()) {
    if (std::any_of(names.begin(), names.end(),
                    [&](const std::string& name) { return MatchesPattern(name, pattern); }))
      continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "inference_mode: no node of the model matches '", pattern,
        "', by its name or that of an output or a weight (onward inspect --values lists them)"));
  }
  return absl::OkStatus();
}

// Modules say which weights are whose: nothing is separated or tied that these fields could keep.
absl::Status CheckOwnModules(const TrainConfig& config) {
  if (config.shared_size() + config.untied_size() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(config.shared_size() > 0 ? "shared" : "untied",
                   " does nothing: the model's file says which weights its modules share"));
}

}  // namespace

absl::StatusOr<TrainableModel> LoadModel(
    const TrainConfig& config, const std::string& directory,
    const std::function<void(const std::string& message)>& warn) {
  TrainableModel loaded;
  if (config.has_built()) {
    const auto& options = config.built().options();
    ONWARD_ASSIGN_OR_RETURN(
        loaded.model,
        BuildModel(config.built().name(), {options.begin(), options.end()}, config.seed()));
  } else {
    ImportOptions import;
    import.initializers = &loaded.initializers;
    ONWARD_ASSIGN_OR_RETURN(loaded.model, ImportFile(PathBelow(directory, config.model()), import));
    if (!loaded.model.graph.metadata.contains(nn::kModulesKey)) {
      ONWARD_RETURN_IF_ERROR(UndoMerging(config, loaded, warn));
      ONWARD_RETURN_IF_ERROR(UndoUntying(config, loaded, warn));
    } else {
      ONWARD_RETURN_IF_ERROR(CheckOwnModules(config));
    }
  }
  ONWARD_RETURN_IF_ERROR(CheckInferenceMode(config, loaded.model.graph));
  ONWARD_RETURN_IF_ERROR(CheckInputs(config.data(), "data.inputs", loaded.model.graph));
  ONWARD_RETURN_IF_ERROR(
      CheckInputs(config.evaluation().data(), "evaluation.data.inputs", loaded.model.graph));
  if (config.has_weights())
    ONWARD_RETURN_IF_ERROR(LoadWeights(config.weights(), directory, loaded.model, warn));
  if (config.has_head()) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string> head,
                            AddHead(config.head(), config.seed(), loaded.model));
    std::erase_if(loaded.initializers, [&](const std::string& name) {
      return !loaded.model.graph.FindValue(name).valid();
    });
    loaded.initializers.insert(loaded.initializers.end(), head.begin(), head.end());
  }
  if (loaded.model.graph.metadata.count(nn::kModulesKey) == 0) return loaded;
  loaded.initializers.clear();
  for (const nn::ParameterInfo& parameter : nn::Parameters(loaded.model)) {
    if (parameter.trainable()) loaded.initializers.push_back(parameter.name);
  }
  return loaded;
}

}  // namespace onward
