#include "training/prepare/instance_norm.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "nn/shape_of.h"
#include "onward/functions.h"
#include "onward/nn/normalization.h"

namespace onward::training {
namespace {

constexpr char kMeanKey[] = "onward.running_mean", kVarianceKey[] = "onward.running_var",
               kMomentumKey[] = "onward.momentum";

std::string TextIn(const Node& node, const char* key) {
  const auto it = node.metadata.find(key);
  return it == node.metadata.end() ? "" : it->second;
}

}  // namespace

bool IsTrainingInstanceNorm(const Node& node) {
  return node.Is("InstanceNormalization") && node.metadata.count(kMeanKey) > 0;
}

TrainedInstanceNorm TrainInstanceNorm(GraphSink& sink, NodeId id) {
  const Node& old = sink.graph().node(id);
  const Expr x = sink.Value(old.inputs[0]), scale = sink.Value(old.inputs[1]),
             bias = sink.Value(old.inputs[2]), running = sink.Value(old.inputs[3]);
  const float epsilon = old.attributes.Float("epsilon", 1e-5f);
  const double share = 1 - static_cast<double>(old.attributes.Float("momentum", 0.9f));
  const int64_t rank = nn::KnownRank(x, "an instance normalization");
  if (rank < 3) {
    sink.Fail(absl::InvalidArgumentError("an instance normalization needs [batch, channels, ...]"));
    return {};
  }
  std::vector<int64_t> places, rest = {0};
  for (int64_t i = 2; i < rank; ++i) places.push_back(i);
  rest.insert(rest.end(), places.begin(), places.end());
  TrainedInstanceNorm made;
  made.y = expr::Op("InstanceNormalization", {x, scale, bias}, {{"epsilon", epsilon}});
  const Expr mean = ReduceMean(x, places);
  const Expr centered = x - mean;
  const Expr sum = ReduceSum(centered * centered, places);
  const Expr count = Cast(Size(x) / Size(mean), x.dtype());
  const Expr variance = sum / Max(count - 1.0, ScalarLike(count, 1));
  made.mean_part = Cast(ReduceMean(mean, rest, false), running.dtype()) * share;
  made.variance_part = Cast(ReduceMean(variance, rest, false), running.dtype()) * share;
  return made;
}

void NoteInstanceNormStates(Graph& graph, const Expr& y, ValueId mean, ValueId variance,
                            double momentum) {
  Node& node = GraphEdit(graph).node(graph.value(y.id()).producer);
  node.metadata[kMeanKey] = graph.value(mean).name;
  node.metadata[kVarianceKey] = graph.value(variance).name;
  node.metadata[kMomentumKey] = absl::StrCat(momentum);
}

InferredInstanceNorm InferInstanceNorm(GraphSink& sink, NodeId id) {
  Graph& graph = sink.graph();
  Node& old = GraphEdit(graph).node(id);
  InferredInstanceNorm made;
  made.mean = graph.FindValue(TextIn(old, kMeanKey));
  made.variance = graph.FindValue(TextIn(old, kVarianceKey));
  if (!made.mean.valid() || !made.variance.valid()) return {};
  double momentum = 0.9;
  (void)absl::SimpleAtod(TextIn(old, kMomentumKey), &momentum);
  for (const char* key : {kMeanKey, kVarianceKey, kMomentumKey}) old.metadata.erase(key);
  const float epsilon = old.attributes.Float("epsilon", 1e-5f);
  const std::vector<ValueId> inputs(old.inputs.begin(), old.inputs.begin() + 3);
  made.y = expr::Op("BatchNormalization",
                    {sink.Value(inputs[0]), sink.Value(inputs[1]), sink.Value(inputs[2]),
                     sink.Value(made.mean), sink.Value(made.variance)},
                    {{"epsilon", epsilon}, {"momentum", static_cast<float>(momentum)}});
  return made;
}

}  // namespace onward::training
