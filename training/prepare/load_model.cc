#include "training/prepare/load_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/name_pattern.h"
#include "onward/dtype.h"
#include "onward/import.h"
#include "onward/models.h"
#include "onward/nn/module.h"
#include "onward/nn/parameters.h"
#include "onward/status.h"
#include "training/config/precision.h"
#include "training/data/sources.h"
#include "training/prepare/head.h"
#include "training/prepare/master_weights.h"
#include "training/prepare/restore_source.h"
#include "training/prepare/state_dict.h"
#include "training/prepare/trainable.h"
#include "training/source/stop_gradients.h"

namespace onward::training {
namespace {

absl::Status LoadWeights(const WeightsConfig& config, const std::string& directory, Model& model,
                         const LogSink& log) {
  LoadOptions options;
  options.strict = !config.partial();
  for (const auto& each : config.rename())
    options.renames.emplace_back(each.pattern(), each.replacement());
  options.ignored = {config.ignored().begin(), config.ignored().end()};
  options.transposed = {config.transposed().begin(), config.transposed().end()};
  const std::string path = PathBelow(directory, config.path());
  const absl::StatusOr<LoadReport> report = LoadStateDict(model, path, options);
  if (!report.ok()) return Annotate(report.status(), "weights:");
  if (!report->complete())
    Warn(log, "weights", absl::StrCat("weights: ", path, ": ", report->ToString()));
  return absl::OkStatus();
}

RestoreOptions OptionsOf(const TrainConfig& config) {
  RestoreOptions options;
  options.shared = {config.shared().begin(), config.shared().end()};
  options.untied = {config.untied().begin(), config.untied().end()};
  // Nodes and weights that the configuration names must exist.
  for (const auto* patterns : {&config.trainable(), &config.frozen()}) {
    std::copy_if(patterns->begin(), patterns->end(), std::back_inserter(options.kept),
                 [](const std::string& each) { return each.find_first_of("*?") == each.npos; });
  }
  return options;
}

// Steps in 16 bits would be lost in rounding.
absl::Status KeepMasters(const TrainConfig& config, TrainableModel& loaded, const LogSink& log) {
  const std::vector<std::string> trainable(config.trainable().begin(), config.trainable().end());
  const std::vector<std::string> frozen(config.frozen().begin(), config.frozen().end());
  ONWARD_ASSIGN_OR_RETURN(
      const std::vector<WeightChoice> choices,
      ChooseTrainable(loaded.model, loaded.initializers, ValueId(), trainable, frozen));
  std::vector<std::string> trained;
  for (const WeightChoice& choice : choices)
    if (choice.trained) trained.push_back(choice.name);
  const MasterWeights masters = AddMasterWeights(loaded.model.graph, trained);
  if (masters.count == 0) return absl::OkStatus();
  std::vector<std::string> dtypes;
  for (const DType dtype : masters.dtypes) dtypes.emplace_back(std::string(DTypeName(dtype)));
  const bool unscaled = masters.dtypes.contains(DType::kFloat16) && !ScalesLoss(config);
  Warn(log, "model",
       absl::StrCat("model: ", masters.count, " weights are ", absl::StrJoin(dtypes, " and "),
                    "; they are trained as float32 masters, with the optimizer's state in "
                    "float32, and exported as they were",
                    unscaled ? ". Gradients of float16 activations may underflow: `precision { "
                               "autocast: FLOAT16 }` scales the loss"
                             : ""));
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

std::vector<std::string> NamedConstants(const Graph& graph) {
  std::vector<std::string> names;
  for (int i = 0; i < graph.num_values(); ++i) {
    const ValueId id{i};
    if (graph.is_constant(id) && !graph.value(id).name.empty())
      names.push_back(graph.value(id).name);
  }
  return names;
}

absl::StatusOr<TrainableModel> OpenModel(const TrainConfig& config, const std::string& directory,
                                         std::optional<Model> given, const LogSink& log) {
  TrainableModel loaded;
  if (config.has_built()) {
    const auto& options = config.built().options();
    ONWARD_ASSIGN_OR_RETURN(
        loaded.model,
        BuildModel(config.built().name(), {options.begin(), options.end()}, config.seed()));
    return loaded;
  }
  if (given) {
    loaded.initializers = NamedConstants(given->graph);
    loaded.model = *std::move(given);
  } else {
    ImportOptions import;
    import.initializers = &loaded.initializers;
    ONWARD_ASSIGN_OR_RETURN(loaded.model, ImportFile(PathBelow(directory, config.model()), import));
  }
  if (loaded.model.graph.metadata.contains(nn::kModulesKey)) {
    ONWARD_RETURN_IF_ERROR(CheckOwnModules(config));
  } else {
    ONWARD_RETURN_IF_ERROR(
        RestoreSource(loaded.model.graph, loaded.initializers, OptionsOf(config), log));
  }
  return loaded;
}

}  // namespace

absl::StatusOr<TrainableModel> LoadModel(const TrainConfig& config, const std::string& directory,
                                         const LogSink& log, std::optional<Model> given) {
  ONWARD_ASSIGN_OR_RETURN(TrainableModel loaded,
                          OpenModel(config, directory, std::move(given), log));
  ONWARD_RETURN_IF_ERROR(CheckInferenceMode(config, loaded.model.graph));
  const std::vector<std::string> stopped(config.stop_gradient().begin(),
                                         config.stop_gradient().end());
  ONWARD_RETURN_IF_ERROR(StopGradientsAt(loaded.model.graph, stopped, "stop_gradient"));
  ONWARD_RETURN_IF_ERROR(CheckInputs(config.data(), "data.inputs", loaded.model.graph));
  ONWARD_RETURN_IF_ERROR(
      CheckInputs(config.evaluation().data(), "evaluation.data.inputs", loaded.model.graph));
  if (config.has_weights())
    ONWARD_RETURN_IF_ERROR(LoadWeights(config.weights(), directory, loaded.model, log));
  if (config.has_head()) {
    ONWARD_ASSIGN_OR_RETURN(const std::vector<std::string> head,
                            AddHead(config.head(), config.seed(), loaded.model));
    std::erase_if(loaded.initializers, [&](const std::string& name) {
      return !loaded.model.graph.FindValue(name).valid();
    });
    loaded.initializers.insert(loaded.initializers.end(), head.begin(), head.end());
  }
  if (loaded.model.graph.metadata.count(nn::kModulesKey) > 0) {
    loaded.initializers.clear();
    for (const nn::ParameterInfo& parameter : nn::Parameters(loaded.model)) {
      if (parameter.trainable()) loaded.initializers.push_back(parameter.name);
    }
  }
  ONWARD_RETURN_IF_ERROR(KeepMasters(config, loaded, log));
  return loaded;
}

}  // namespace onward::training
