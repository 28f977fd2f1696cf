#include "training/step/running_statistics.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/rewrite/keep_outputs.h"
#include "graph/rewrite/match.h"
#include "onward/status.h"
#include "training/rewrite/names.h"

namespace onward::training {

absl::StatusOr<std::vector<std::string>> KeepBatchStatistics(Model& model) {
  Graph& graph = model.graph;
  std::set<ValueId> read;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (IsOp(node, "BatchNormalization") && node.attributes.Int("training_mode", 0) != 0)
      read.insert({node.inputs[3], node.inputs[4]});
  }
  std::vector<std::string> names;
  std::vector<int> kept;
  for (const UpdateBinding& update : model.updates) {
    if (read.count(update.input) == 0) continue;
    const std::string name = graph.value(update.input).name;
    GraphEdit(graph).Rename(update.output, absl::StrCat(kStatisticPrefix, name));
    const auto& outputs = graph.outputs();
    kept.push_back(static_cast<int>(std::find(outputs.begin(), outputs.end(), update.output) -
                                    outputs.begin()));
    names.push_back(name);
  }
  model.updates.clear();
  ONWARD_ASSIGN_OR_RETURN(graph, KeepOutputs(std::move(graph), kept));
  return names;
}

void StatisticsMean::Add(const Session::Outputs& outputs) {
  ++batches_;
  for (const auto& [name, value] : outputs) {
    if (!absl::StartsWith(name, kStatisticPrefix)) continue;
    const Tensor& tensor = value.tensor();
    Mean& mean = means_[name.substr(std::strlen(kStatisticPrefix))];
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
  for (const auto& named : means_) {
    const Mean& mean = named.second;
    Tensor tensor(mean.dtype, mean.dims);
    DispatchDType(FloatTypes(), mean.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (size_t i = 0; i < mean.values.size(); ++i)
        tensor.template mutable_data<T>()[i] = static_cast<T>(mean.values[i]);
    });
    means[named.first] = std::move(tensor);
  }
  return means;
}

}  // namespace onward::training
