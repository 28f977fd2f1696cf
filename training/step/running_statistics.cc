#include "training/step/running_statistics.h"

#include <algorithm>
#include <set>

#include "graph/rewrite/keep_outputs.h"
#include "onward/status.h"

namespace onward::training {

absl::StatusOr<std::vector<std::string>> KeepBatchStatistics(Model& model) {
  Graph& graph = model.graph;
  std::set<ValueId> read;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (node.Is("BatchNormalization") && node.attributes.Int("training_mode", 0) != 0)
      read.insert({node.inputs[3], node.inputs[4]});
  }
  std::vector<std::string> names;
  std::vector<int> kept;
  for (const UpdateBinding& update : model.updates) {
    if (read.count(update.input) == 0) continue;
    const auto& outputs = graph.outputs();
    kept.push_back(static_cast<int>(std::find(outputs.begin(), outputs.end(), update.output) -
                                    outputs.begin()));
    names.push_back(graph.value(update.input).name);
  }
  model.updates.clear();
  ONWARD_ASSIGN_OR_RETURN(graph, KeepOutputs(std::move(graph), kept));
  return names;
}

void StatisticsMean::Add(const std::vector<Value>& outputs) {
  ++batches_;
  means_.resize(names_.size());
  for (size_t output = 0; output < names_.size(); ++output) {
    const Tensor& tensor = outputs[output].tensor();
    Mean& mean = means_[output];
    mean.dtype = tensor.dtype();
    mean.dims.assign(tensor.dims().begin(), tensor.dims().end());
    mean.values.resize(static_cast<size_t>(tensor.num_elements()));
    DispatchDType(FloatTypes(), tensor.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (size_t i = 0; i < mean.values.size(); ++i)
        mean.values[i] += (static_cast<double>(tensor.data<T>()[i]) - mean.values[i]) /
                          static_cast<double>(batches_);
    });
  }
}

std::map<std::string, Tensor> StatisticsMean::Means() const {
  std::map<std::string, Tensor> means;
  for (size_t output = 0; output < means_.size(); ++output) {
    const Mean& mean = means_[output];
    Tensor tensor(mean.dtype, mean.dims);
    DispatchDType(FloatTypes(), mean.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (size_t i = 0; i < mean.values.size(); ++i)
        tensor.template mutable_data<T>()[i] = static_cast<T>(mean.values[i]);
    });
    means[names_[output]] = std::move(tensor);
  }
  return means;
}

}  // namespace onward::training
