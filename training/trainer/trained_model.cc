#include "training/trainer/trained_model.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/passes/pass.h"
#include "graph/passes/passes.h"
#include "graph/rewrite/state.h"
#include "onward/export.h"
#include "onward/status.h"
#include "training/data/model_notes.h"
#include "training/prepare/master_weights.h"
#include "training/prepare/mode.h"
#include "training/prepare/trainable_model.h"
#include "training/source/stop_gradients.h"
#include "training/step/phases.h"

namespace onward::training {
namespace {

std::string TypeOf(const Tensor& tensor) {
  return absl::StrCat(std::string(DTypeName(tensor.dtype())), DimsString(tensor.dims()));
}

}  // namespace

absl::Status SetWeights(const std::map<std::string, Tensor>& state, bool averaged,
                        TrainableModel& model) {
  Graph& graph = model.model.graph;
  int count = 0;
  for (const std::string& name : model.initializers) {
    const auto value = state.find(name);
    const ValueId id = graph.FindValue(name);
    if (value == state.end() || !id.valid() || !graph.is_constant(id)) continue;
    const auto average = state.find(kAveragePrefix + name);
    const Tensor& weight = averaged && average != state.end() ? average->second : value->second;
    const std::string own = TypeOf(*graph.constant(id));
    if (TypeOf(weight) != own) {
      return absl::InvalidArgumentError(absl::StrCat("of another model: '", name, "' is ",
                                                     TypeOf(weight), " there and ", own,
                                                     " in the config's model"));
    }
    SetConstant(graph, id, weight.Clone());
    ++count;
  }
  if (count > 0 || state.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "of another model: it has none of the weights of the config's model");
}

std::vector<std::string> ReleaseWeights(const std::vector<std::string>& names, Graph& graph) {
  std::vector<std::string> released;
  for (const std::string& name : names) {
    const ValueId id = graph.FindValue(name);
    if (!graph.is_constant(id)) continue;
    SetConstant(graph, id, std::nullopt);
    released.push_back(name);
  }
  return released;
}

Model ModelWithWeights(Model model, const std::vector<std::string>& names, bool averaged,
                       const std::map<std::string, Tensor>& state) {
  for (const std::string& name : names) {
    const auto average = state.find(kAveragePrefix + name);
    const Tensor& weight = averaged && average != state.end() ? average->second : state.at(name);
    SetConstant(model.graph, model.graph.FindValue(name), weight);
  }
  return model;
}

absl::Status ToInferenceForm(Model& model) {
  ONWARD_RETURN_IF_ERROR(SetInferenceMode(model).status());
  RoundMasterWeights(model.graph);
  StopGradientsToIdentities(model.graph);
  return absl::OkStatus();
}

void SetNotes(const TrainConfig& config, const std::map<std::string, std::string>& notes,
              Model& model) {
  // The names of a model's classes do not fit another head.
  if (config.has_head()) model.metadata.erase(onnx_io::kClassesNote);
  for (const auto& [key, value] : notes) model.metadata[key] = value;
}

absl::Status ExportTrainedModel(Model model, const TrainConfig& config, const std::string& path) {
  if (config.export_().fold_batch_norm()) {
    const std::vector<Pass> passes = {{"fuse_batch_norm", FuseBatchNorm},
                                      {"eliminate_dead", EliminateDead}};
    ONWARD_RETURN_IF_ERROR(RunPasses(model, passes, PassOptions()).status());
  }
  return ExportFile(model, path);
}

}  // namespace onward::training
