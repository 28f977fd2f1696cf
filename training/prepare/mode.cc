#include "training/prepare/mode.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/name_pattern.h"
#include "graph/builder/patch_sink.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/require.h"
#include "graph/rewrite/keep_outputs.h"
#include "graph/rewrite/match.h"
#include "graph/rewrite/state.h"
#include "onward/functions.h"
#include "onward/nn/normalization.h"
#include "onward/status.h"
#include "training/prepare/instance_norm.h"
#include "training/prepare/several_values.h"
#include "training/prepare/spectral_norm.h"

namespace onward::training {
namespace {

bool IsFrozen(const Graph& graph, const Node& node, const TrainingModeOptions& options) {
  if (MatchesAny(node.name, options.frozen)) return true;
  const auto matches = [&](ValueId id) {
    return id.valid() && MatchesAny(graph.value(id).name, options.frozen);
  };
  return std::any_of(node.outputs.begin(), node.outputs.end(), matches) ||
         std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return graph.is_constant(id) && matches(id); });
}

// `made` stands where the outputs of `id` did: with their names, in all their uses.
void TakePlace(Graph& graph, NodeId id, const std::vector<Expr>& made) {
  const NodeId maker = graph.value(made[0].id()).producer;
  Node& node = GraphEdit(graph).node(maker);
  Node& old = GraphEdit(graph).node(id);
  node.name = std::move(old.name);
  node.doc_string = std::move(old.doc_string);
  node.metadata = std::move(old.metadata);
  const std::vector<ValueId> outputs = old.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId from = outputs[i];
    if (!from.valid() || i >= made.size() || !made[i].valid()) continue;
    GraphEdit(graph).MoveName(from, made[i].id(), "/before");
    GraphEdit(graph).type(made[i].id()) = graph.type(from);
    GraphEdit(graph).ReplaceUses(from, made[i].id());
  }
  GraphEdit(graph).RemoveNode(id);
}

// --- Dropout, and other nodes that draw

// A ratio of 0 drops nothing.
bool MayDrop(const Graph& graph, const Node& node) {
  const ValueId ratio = InputOf(node, 1);
  return !ratio.valid() || ScalarValue(graph, ratio) != 0.0;
}

// A stream of random numbers that stays the node's own through every rewrite: FNV-1a of its name.
std::string StreamOf(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return absl::StrCat(hash);
}

absl::Status TrainDropout(Graph& graph, NodeId id) {
  GraphSink sink(graph);
  const Node& old = graph.node(id);
  const ValueId ratio = InputOf(old, 1);
  const Expr on = sink.Constant(Tensor::Scalar(true), "training_mode");
  std::vector<bool> wanted;
  for (const ValueId output : old.outputs) wanted.push_back(output.valid());
  const std::vector<Expr> made = sink.OpsWanted(
      "Dropout", {sink.Value(old.inputs[0]), ratio.valid() ? sink.Value(ratio) : Expr(), on},
      wanted);
  ONWARD_RETURN_IF_ERROR(sink.status());
  TakePlace(graph, id, made);
  const ValueData& y = graph.value(made[0].id());
  GraphEdit(graph).node(y.producer).metadata[kStreamKey] = StreamOf(y.name);
  return absl::OkStatus();
}

absl::Status TrainDropouts(Graph& graph, const TrainingModeOptions& options, ModeChange& change) {
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& body : graph.node(id).subgraphs)
      ONWARD_RETURN_IF_ERROR(TrainDropouts(*body.graph, options, change));
    Node& node = GraphEdit(graph).node(id);
    if (IsRandom(node) && !node.Is("Dropout") && !node.outputs.empty())
      node.metadata.try_emplace(kStreamKey, StreamOf(graph.value(node.outputs[0]).name));
    if (!node.Is("Dropout") || !MayDrop(graph, node) || IsFrozen(graph, node, options)) continue;
    if (!node.outputs[0].valid()) continue;
    ONWARD_RETURN_IF_ERROR(TrainDropout(graph, id));
    ++change.dropouts;
  }
  return absl::OkStatus();
}

absl::Status RemoveDropouts(Graph& graph, ModeChange& change) {
  for (const NodeId id : graph.node_ids()) {
    if (!graph.alive(id)) continue;
    for (const Subgraph& body : graph.node(id).subgraphs)
      ONWARD_RETURN_IF_ERROR(RemoveDropouts(*body.graph, change));
    if (!graph.node(id).Is("Dropout")) continue;
    const Node& node = graph.node(id);
    Patch patch(absl::StrCat("remove_dropout @ ", node.name), graph);
    if (node.outputs[0].valid()) patch.Replace(node.outputs[0], node.inputs[0]);
    if (node.outputs.size() > 1 && node.outputs[1].valid()) {
      PatchSink sink(patch);
      const Expr all =
          Expand(sink.Constant(Tensor::Scalar(true), "kept"), Shape(sink.Value(node.inputs[0])));
      ONWARD_RETURN_IF_ERROR(sink.status());
      patch.Replace(node.outputs[1], all.id());
    }
    ONWARD_RETURN_IF_ERROR(Apply(graph, std::move(patch)));
    ++change.dropouts;
  }
  return absl::OkStatus();
}

// --- BatchNormalization

bool IsTraining(const Node& node) { return node.attributes.Int("training_mode", 0) != 0; }

// The running statistic that `read` is, as state; invalid when it is computed. Exporters write
// equal initializers once, with an Identity for each further name: those are states of their own.
ValueId StatisticAsState(Graph& graph, ValueId read) {
  ValueId source = read;
  while (const Node* identity = MadeBy(graph, source, "Identity")) source = identity->inputs[0];
  if (!graph.is_constant(source)) return {};
  if (source == read) return ConstantToState(graph, read);
  std::string name = graph.value(read).name;
  Tensor initial = *graph.constant(source);
  GraphEdit(graph).Rename(read, graph.UniqueName(name + "/shared"));
  const ValueId state = AddState(graph, name, std::move(initial));
  GraphEdit(graph).ReplaceUses(read, state);
  return state;
}

Expr MeanOf(const std::vector<Expr>& parts) {
  Expr sum = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i];
  return parts.size() == 1 ? sum : sum / static_cast<double>(parts.size());
}

class BatchNormalizationTrainer {
 public:
  BatchNormalizationTrainer(Model& model, const TrainingModeOptions& options)
      : model_(model), graph_(model.graph), options_(options), sink_(model.graph, "running/") {}

  // Returns whether the node trains now. Nodes come in topological order.
  absl::StatusOr<bool> Train(NodeId id) {
    ValueId states[2];
    for (int i = 0; i < 2; ++i) {
      states[i] = StatisticAsState(graph_, graph_.node(id).inputs[static_cast<size_t>(3 + i)]);
      if (!states[i].valid()) return false;
    }
    if (graph_.node(id).metadata.count(nn::kPerInstanceKey) > 0)
      return TrainInstances(id, states[0], states[1]);
    const Node& old = graph_.node(id);
    Attributes attributes = old.attributes;
    attributes.Set("training_mode", int64_t{1});
    if (options_.batch_statistics) attributes.Set("momentum", 0.0f);
    const Expr x = sink_.Value(old.inputs[0]), scale = sink_.Value(old.inputs[1]),
               bias = sink_.Value(old.inputs[2]);
    const double momentum = attributes.Float("momentum", 0.9f);
    const Expr running[2] = {sink_.Value(states[0]), sink_.Value(states[1])};
    const std::vector<Expr> made = sink_.Ops(
        "BatchNormalization", {x, scale, bias, running[0], running[1]}, 3, std::move(attributes));
    for (size_t i = 0; i < 2; ++i) {
      Expr next = made[1 + i];
      const auto earlier = next_.find(states[i]);
      Expr part;  // what the batch adds
      const bool corrected = i == 1 && options_.unbiased_variance;
      if (corrected || earlier != next_.end()) part = next - running[i] * momentum;
      if (corrected) {
        const Expr count = Size(x) / Size(scale);
        const Expr more = part / Cast(Max(count - 1.0, ScalarLike(count, 1)), part.dtype());
        next = next + more;
        part = part + more;
      }
      if (options_.batch_statistics) {
        of_uses_[states[i]].push_back(next);
        next = MeanOf(of_uses_[states[i]]);
      } else if (earlier != next_.end()) {
        next = earlier->second * momentum + part;
      }
      next_[states[i]] = next;
    }
    ONWARD_RETURN_IF_ERROR(sink_.status());
    TakePlace(graph_, id, made);
    if (options_.unbiased_variance) {
      const NodeId maker = graph_.value(made[0].id()).producer;
      GraphEdit(graph_).node(maker).metadata.emplace(kSeveralValuesKey, "");
    }
    return true;
  }

  void AddUpdates() {
    for (const auto& [state, next] : next_) {
      // An output of the graph keeps its name.
      const bool output = graph_.is_output(next.id());
      AddUpdate(model_, state, output ? Identity(next).id() : next.id());
    }
  }

 private:
  absl::StatusOr<bool> TrainInstances(NodeId id, ValueId mean, ValueId variance) {
    const double momentum = graph_.node(id).attributes.Float("momentum", 0.9f);
    const TrainedInstanceNorm made = TrainInstanceNorm(sink_, id);
    const std::pair<ValueId, Expr> parts[] = {{mean, made.mean_part},
                                              {variance, made.variance_part}};
    for (const auto& [state, part] : parts) {
      const auto earlier = next_.find(state);
      const Expr before = earlier == next_.end() ? sink_.Value(state) : earlier->second;
      next_[state] = before * momentum + part;
    }
    ONWARD_RETURN_IF_ERROR(sink_.status());
    TakePlace(graph_, id, {made.y});
    NoteInstanceNormStates(graph_, made.y, mean, variance, momentum);
    return true;
  }

  Model& model_;
  Graph& graph_;
  const TrainingModeOptions& options_;
  GraphSink sink_;
  std::map<ValueId, Expr> next_;                  // what each state becomes
  std::map<ValueId, std::vector<Expr>> of_uses_;  // each use's statistics, of batch_statistics
};

bool IsUpdated(const Model& model, ValueId input) {
  return std::any_of(model.updates.begin(), model.updates.end(),
                     [&](const UpdateBinding& each) { return each.input == input; });
}

void LeaveInBodies(const Graph& graph, ModeChange& change) {
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& body : graph.node(id).subgraphs) {
      for (const NodeId inner : body.graph->node_ids()) {
        if (body.graph->node(inner).Is("BatchNormalization")) {
          change.left.push_back(absl::StrCat(body.graph->Describe(inner),
                                             " is in a body of control flow, which has no state"));
        }
      }
      LeaveInBodies(*body.graph, change);
    }
  }
}

absl::Status TrainBatchNormalizations(Model& model, const TrainingModeOptions& options,
                                      ModeChange& change) {
  Graph& graph = model.graph;
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.TopologicalOrder());
  BatchNormalizationTrainer trainer(model, options);
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (!node.Is("BatchNormalization") || IsFrozen(graph, node, options)) continue;
    if (IsTraining(node) && IsUpdated(model, node.inputs[3])) continue;
    const std::string description = graph.Describe(id);
    ONWARD_ASSIGN_OR_RETURN(const bool trains, trainer.Train(id));
    change.batch_normalizations += trains;
    if (!trains) {
      change.left.push_back(
          absl::StrCat(description, " has running statistics that are not initializers"));
    }
  }
  trainer.AddUpdates();
  LeaveInBodies(graph, change);
  return absl::OkStatus();
}

// The running statistics that `id` reads are state no longer.
absl::Status FreezeBatchNormalization(Model& model, NodeId id, std::vector<ValueId>& states) {
  Graph& graph = model.graph;
  const Node& old = graph.node(id);  // until a node is added
  const std::vector<ValueId> outputs = old.outputs;
  states.insert(states.end(), {old.inputs[3], old.inputs[4]});
  Attributes attributes = old.attributes;
  attributes.Set("training_mode", int64_t{0});
  GraphSink sink(graph);
  std::vector<Expr> inputs;
  for (const ValueId input : old.inputs) inputs.push_back(sink.Value(input));
  std::vector<Expr> made = {sink.Op("BatchNormalization", inputs, std::move(attributes))};
  ONWARD_RETURN_IF_ERROR(sink.status());
  TakePlace(graph, id, made);
  // Whoever still reads the next statistics reads the present ones.
  for (size_t i = 1; i < outputs.size(); ++i) {
    if (!outputs[i].valid() || (graph.users(outputs[i]).empty() && !graph.is_output(outputs[i])))
      continue;
    const Expr present = Identity(inputs[2 + i]);
    ONWARD_RETURN_IF_ERROR(sink.status());
    GraphEdit(graph).MoveName(outputs[i], present.id(), "/before");
    GraphEdit(graph).ReplaceUses(outputs[i], present.id());
    for (UpdateBinding& update : model.updates)
      if (update.output == outputs[i]) update.output = present.id();
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> FreezeInstanceNorm(Graph& graph, NodeId id, std::vector<ValueId>& states) {
  GraphSink sink(graph);
  const InferredInstanceNorm made = InferInstanceNorm(sink, id);
  ONWARD_RETURN_IF_ERROR(sink.status());
  if (!made.y.valid()) return false;
  TakePlace(graph, id, {made.y});
  states.insert(states.end(), {made.mean, made.variance});
  return true;
}

// The updates of `states` and their outputs go, and the states become constants.
absl::Status RemoveStates(Model& model, const std::vector<ValueId>& states) {
  std::vector<UpdateBinding> updates;
  std::vector<ValueId> dropped;
  for (const UpdateBinding& update : model.updates) {
    const bool of_these = std::find(states.begin(), states.end(), update.input) != states.end();
    if (of_these) {
      dropped.push_back(update.output);
      GraphEdit(model.graph).RemoveInput(update.input);
    } else {
      updates.push_back(update);
    }
  }
  std::vector<int> kept;
  for (size_t i = 0; i < model.graph.outputs().size(); ++i) {
    if (std::find(dropped.begin(), dropped.end(), model.graph.outputs()[i]) == dropped.end())
      kept.push_back(static_cast<int>(i));
  }
  std::vector<ValueId> moved;
  ONWARD_ASSIGN_OR_RETURN(model.graph, KeepOutputs(std::move(model.graph), kept, &moved));
  for (UpdateBinding& update : updates) {
    update = {moved[static_cast<size_t>(update.input.index)],
              moved[static_cast<size_t>(update.output.index)]};
  }
  model.updates = std::move(updates);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModeChange> SetTrainingMode(Model& model, const TrainingModeOptions& options) {
  ModeChange change;
  ONWARD_RETURN_IF_ERROR(TrainDropouts(model.graph, options, change));
  ONWARD_RETURN_IF_ERROR(TrainBatchNormalizations(model, options, change));
  ONWARD_ASSIGN_OR_RETURN(change.spectral_norms, TrainSpectralNorms(model, [&](const Node& node) {
                            return IsFrozen(model.graph, node, options);
                          }));
  if (options.unbiased_variance) {
    RequireSeveralValues(model.graph, [&](const Graph& graph, const Node& node) {
      return IsFrozen(graph, node, options);
    });
  }
  return change;
}

absl::StatusOr<ModeChange> SetInferenceMode(Model& model) {
  ModeChange change;
  AllowOneValue(model.graph);
  ONWARD_RETURN_IF_ERROR(RemoveDropouts(model.graph, change));
  std::vector<ValueId> states;
  for (const NodeId id : model.graph.node_ids()) {
    const Node& node = model.graph.node(id);
    if (IsTrainingInstanceNorm(node)) {
      ONWARD_ASSIGN_OR_RETURN(const bool frozen, FreezeInstanceNorm(model.graph, id, states));
      change.batch_normalizations += frozen;
      continue;
    }
    if (!node.Is("BatchNormalization") || !IsTraining(node)) continue;
    ONWARD_RETURN_IF_ERROR(FreezeBatchNormalization(model, id, states));
    ++change.batch_normalizations;
  }
  change.spectral_norms = InferSpectralNorms(model.graph, states);
  ONWARD_RETURN_IF_ERROR(RemoveStates(model, states));
  return change;
}

}  // namespace onward::training
