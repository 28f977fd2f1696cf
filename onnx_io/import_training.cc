#include "onnx_io/import_training.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "files/utf8.h"

namespace onward::onnx_io {
namespace {

void Append(onnx::GraphProto& algorithm, onnx::GraphProto& graph) {
  graph.mutable_node()->MergeFrom(algorithm.node());
  graph.mutable_input()->MergeFrom(algorithm.input());
  graph.mutable_output()->MergeFrom(algorithm.output());
  graph.mutable_initializer()->MergeFrom(algorithm.initializer());
  graph.mutable_sparse_initializer()->MergeFrom(algorithm.sparse_initializer());
  graph.mutable_value_info()->MergeFrom(algorithm.value_info());
  algorithm.Clear();
}

}  // namespace

onnx::ModelProto TakeInitialization(const onnx::ModelProto& model,
                                    onnx::TrainingInfoProto& training) {
  onnx::ModelProto taken;
  taken.set_ir_version(model.ir_version());
  *taken.mutable_opset_import() = model.opset_import();
  *taken.mutable_functions() = model.functions();
  taken.mutable_graph()->Swap(training.mutable_initialization());
  if (taken.graph().name().empty()) taken.mutable_graph()->set_name("initialization");
  return taken;
}

std::vector<TrainingInitialization::Binding> InitializationBindings(
    const onnx::TrainingInfoProto& training, const onnx::ModelProto& model,
    const Graph& initialization, Problems& problems) {
  std::set<std::string> initializers;
  for (const auto& tensor : model.graph().initializer()) initializers.insert(tensor.name());
  std::set<std::string> outputs;
  for (const ValueId output : initialization.outputs())
    outputs.insert(initialization.value(output).name);
  std::vector<TrainingInitialization::Binding> bindings;
  for (const auto& binding : training.initialization_binding()) {
    if (!initializers.contains(binding.key()) || !outputs.contains(binding.value())) {
      problems.Invalid(absl::StrCat(
          "initialization binding of '", files::PrintableUtf8(binding.key()), "' to '",
          files::PrintableUtf8(binding.value()), "': there is no such initializer or output"));
      continue;
    }
    bindings.push_back({binding.key(), binding.value()});
  }
  return bindings;
}

void CombineTraining(onnx::ModelProto& model) {
  onnx::GraphProto& graph = *model.mutable_graph();
  std::set<std::string> updated;  // or set
  for (auto& training : *model.mutable_training_info()) {
    Append(*training.mutable_algorithm(), graph);
    for (const auto& binding : training.update_binding()) updated.insert(binding.key());
    for (const auto& binding : training.initialization_binding()) updated.insert(binding.key());
  }
  for (const auto& input : graph.input()) updated.erase(input.name());
  for (const auto& tensor : graph.initializer()) {
    if (updated.erase(tensor.name()) == 0) continue;
    onnx::ValueInfoProto* input = graph.add_input();
    input->set_name(tensor.name());
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(tensor.data_type());
    type->mutable_shape();
    for (const int64_t dim : tensor.dims()) type->mutable_shape()->add_dim()->set_dim_value(dim);
  }
}

void ImportUpdates(const onnx::ModelProto& proto, const HashMap<std::string, ValueId>& values,
                   Model& model, Problems& problems) {
  for (const auto& training : proto.training_info()) {
    if (training.algorithm().node_size() > 0) continue;
    for (const auto& binding : training.update_binding()) {
      const auto input = values.find(binding.key());
      const auto output = values.find(binding.value());
      if (input == values.end() || output == values.end()) {
        problems.Invalid(absl::StrCat("update binding of '", files::PrintableUtf8(binding.key()),
                                      "' to '", files::PrintableUtf8(binding.value()),
                                      "': there is no such value"));
        continue;
      }
      model.updates.push_back({input->second, output->second});
    }
  }
}

}  // namespace onward::onnx_io
