// onward gradient: writes a model that also computes gradients.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "onward/export.h"
#include "onward/import.h"
#include "onward/nn/module.h"
#include "onward/status.h"
#include "training/gradient/gradient_model.h"
#include "training/prepare/restore_source.h"
#include "training/prepare/trainable.h"
#include "training/source/stop_gradients.h"
#include "training/source/torch_export.h"

namespace onward::cli {
namespace {

struct GradientFlags {
  std::string in, out;
  std::vector<std::string> of, wrt, stop_gradient;
  bool allow_onward_ops = false;
};

// "Y,Y2" is two names unless the model has one of that spelling.
std::vector<std::string> SplitNames(const Graph& graph, const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    if (graph.FindValue(list).valid()) {
      names.push_back(list);
      continue;
    }
    for (const auto& name : absl::StrSplit(list, ',', absl::SkipEmpty()))
      names.emplace_back(std::string(name));
  }
  return names;
}

// Where `trainable` stands for them: the parameters, where the file says which initializers are;
// else all that hold floats, but running statistics, which the graph shows.
absl::StatusOr<std::vector<std::string>> WithTrainable(
    const Model& model, const std::vector<std::string>& names,
    const std::vector<std::string>& initializers) {
  const Graph& graph = model.graph;
  std::vector<std::string> result;
  for (const std::string& name : names) {
    if (name != "trainable" || graph.FindValue(name).valid()) {
      result.push_back(name);
      continue;
    }
    const size_t before = result.size();
    ONWARD_ASSIGN_OR_RETURN(const std::vector<WeightChoice> choices,
                            training::ChooseTrainable(model, initializers, ValueId(), {}, {}));
    const bool says = training::TorchExport(graph).speaks();
    for (const WeightChoice& choice : choices)
      if (choice.trained || choice.ground == Ground::kGuess) result.push_back(choice.name);
    if (result.size() == before)
      return absl::InvalidArgumentError(
          "--wrt trainable: the model has no float initializers to train");
    std::fprintf(stderr, "trainable: %zu of %zu float initializers%s\n", result.size() - before,
                 choices.size(), says ? ", those that the file names as parameters" : "");
  }
  return result;
}

absl::Status WriteGradient(const GradientFlags& options, const CommonOptions& common) {
  std::vector<std::string> initializers;
  ImportOptions import;
  import.initializers = &initializers;
  ONWARD_ASSIGN_OR_RETURN(Model model, ImportFile(options.in, import));
  if (!model.graph.metadata.contains(nn::kModulesKey)) {
    training::RestoreOptions restore;
    restore.kept = options.wrt;
    ONWARD_RETURN_IF_ERROR(
        training::RestoreSource(model.graph, initializers, restore, LogToStandardError()));
  }
  ONWARD_RETURN_IF_ERROR(
      training::StopGradientsAt(model.graph, options.stop_gradient, "--stop-gradient"));
  training::GradientModelOptions gradient;
  gradient.of = SplitNames(model.graph, options.of);
  gradient.allow_onward_ops = options.allow_onward_ops;
  gradient.initializers = initializers;
  ONWARD_ASSIGN_OR_RETURN(gradient.wrt,
                          WithTrainable(model, SplitNames(model.graph, options.wrt), initializers));
  if (gradient.of.empty()) return absl::InvalidArgumentError("--of needs the name of a tensor");
  if (gradient.wrt.empty()) return absl::InvalidArgumentError("--wrt needs the name of a tensor");
  const size_t before = model.graph.node_ids().size();
  ONWARD_ASSIGN_OR_RETURN(const training::GradientNames names,
                          training::MakeGradientModel(model, gradient));
  ExportOptions written;
  written.keep_onward_ops = options.allow_onward_ops;
  ONWARD_RETURN_IF_ERROR(ExportFile(model, options.out, written));
  const size_t nodes = model.graph.node_ids().size();
  if (common.json) {
    const nlohmann::json document = {{"output", options.out},
                                     {"nodes", nodes},
                                     {"forward_nodes", before},
                                     {"cotangents", names.inputs},
                                     {"gradients", names.outputs}};
    std::printf("%s\n", document.dump(2).c_str());
    return absl::OkStatus();
  }
  for (const std::string& name : names.inputs) std::printf("input  %s\n", name.c_str());
  for (const std::string& name : names.outputs) std::printf("output %s\n", name.c_str());
  std::printf("%zu nodes (%zu before) written to %s\n", nodes, before, options.out.c_str());
  return absl::OkStatus();
}

}  // namespace

void AddGradient(CommandLine& line, CommonOptions& common) {
  auto options = std::make_shared<GradientFlags>();
  Command command =
      NewCommand(line, common, "gradient", "Writes a model that also computes gradients",
                 "onward gradient model.onnx -o gradient.onnx --of loss --wrt trainable");
  command.Option("model", options->in, "ONNX file", {.required = true});
  command.Option("-o,--output", options->out, "ONNX file to write", {.required = true});
  command.Option("--of", options->of,
                 "what to differentiate, as Y,Y2; each of rank > 0 gets an input grad/Y",
                 {.required = true});
  command.Option(
      "--wrt", options->wrt,
      "what for, as X,W; each gets an output grad/X; trainable: the parameters of the file",
      {.required = true});
  command.Option("--stop-gradient", options->stop_gradient,
                 "values through which no gradient flows, as PyTorch's detach(); '*' and '?' stand "
                 "for any characters; may be repeated");
  command.Flag("--allow-onward-ops", options->allow_onward_ops,
               "use ops that only Onward runs, where they are faster or the standard has none");
  command.Do([=, &common] { return WriteGradient(*options, common); });
}

}  // namespace onward::cli
