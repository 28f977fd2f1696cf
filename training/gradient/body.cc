#include "training/gradient/body.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "graph/rewrite/match.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/gradient/driver.h"
#include "training/gradient/path.h"

namespace onward::gradient {
namespace {

Subgraph CopyOf(const Subgraph& subgraph) {
  return {subgraph.attribute, std::make_unique<Graph>(*subgraph.graph), subgraph.captures};
}

// Returns whether the node itself draws; ONNX calls those that own bodies random too.
bool Draws(const Node& node) { return node.subgraphs.empty() && IsRandom(node); }

// Results of random nodes that the gradients need become inputs.
absl::Status TakeDrawn(const Graph& body, BodyGradient& gradient) {
  Graph& graph = *gradient.graph;
  for (const NodeId id : body.node_ids()) {
    if (!Draws(body.node(id))) continue;
    for (const ValueId output : body.node(id).outputs) {
      if (!output.valid() || !gradient.Needs(output)) continue;
      ValueId& copy = gradient.copies[static_cast<size_t>(output.index)];
      const ValueId input = GraphEdit(graph).AddInput(
          graph.UniqueName(graph.value(copy).name + "/drawn"), graph.type(copy));
      GraphEdit(graph).ReplaceUses(copy, input);
      gradient.drawn.emplace_back(output, input);
      copy = input;
    }
  }
  RemoveUnread(graph, {}, 0);
  if (HoldsRandom(graph)) {
    return absl::UnimplementedError(
        "its gradient needs random numbers again that are drawn within two bodies");
  }
  return absl::OkStatus();
}

}  // namespace

bool HoldsRandom(const Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    if (Draws(graph.node(id))) return true;
    for (const Subgraph& subgraph : graph.node(id).subgraphs) {
      if (HoldsRandom(*subgraph.graph)) return true;
    }
  }
  return false;
}

ValueId GraphCopier::Of(ValueId id) {
  ValueId& copy = map_[static_cast<size_t>(id.index)];
  if (!copy.valid() && from_.is_constant(id)) {
    copy = GraphEdit(to_).AddConstant(to_.UniqueName(from_.value(id).name), *from_.constant(id));
  }
  return copy;
}

absl::Status GraphCopier::CopyNodes() {
  ONWARD_ASSIGN_OR_RETURN(const std::vector<NodeId> order, from_.TopologicalOrder());
  for (const NodeId id : order) {
    const Node& node = from_.node(id);
    Node copy = NodeLike(node);
    for (const ValueId input : node.inputs)
      copy.inputs.push_back(input.valid() ? Of(input) : ValueId());
    for (const Subgraph& subgraph : node.subgraphs) {
      copy.subgraphs.push_back(CopyOf(subgraph));
      for (ValueId& capture : copy.subgraphs.back().captures) capture = Of(capture);
    }
    for (const ValueId output : node.outputs) {
      if (!output.valid()) {
        copy.outputs.emplace_back();
        continue;
      }
      const ValueId made =
          GraphEdit(to_).AddValue(to_.UniqueName(from_.value(output).name), from_.type(output));
      copy.outputs.push_back(made);
      ValueId& mapped = map_[static_cast<size_t>(output.index)];
      if (!mapped.valid()) mapped = made;
    }
    GraphEdit(to_).AddNode(std::move(copy));
  }
  return absl::OkStatus();
}

Expr BodyWriter::Input(const std::string& name, Type type) {
  return sink_.Value(
      GraphEdit(*graph_).AddInput(graph_->UniqueName("backward/" + name), std::move(type)));
}

Expr BodyWriter::Capture(ValueId outer) {
  const auto found = std::find(captures_.begin(), captures_.end(), outer);
  if (found != captures_.end())
    return sink_.Value(graph_->captures()[static_cast<size_t>(found - captures_.begin())]);
  captures_.push_back(outer);
  return sink_.Value(GraphEdit(*graph_).AddCapture(graph_->UniqueName(outer_.value(outer).name),
                                                   outer_.type(outer)));
}

void BodyWriter::Output(const Expr& value) {
  const bool direct = graph_->value(value.id()).producer.valid() && !graph_->is_output(value.id());
  const Expr own = direct ? value : Identity(value);
  if (own.valid()) GraphEdit(*graph_).AddOutput(own.id());
}

Subgraph BodyWriter::Take(std::string attribute) {
  RemoveUnread(*graph_, {}, 0);
  graph_->name = attribute;
  return {std::move(attribute), std::move(graph_), std::move(captures_)};
}

bool BodyGradient::Needs(ValueId body_value) const {
  const ValueId copy = copies[static_cast<size_t>(body_value.index)];
  return copy.valid() && (!graph->users(copy).empty() || graph->is_output(copy));
}

Type CotangentType(const Type& type) {
  return type.kind == Type::Kind::kOptional ? *type.element : type;
}

void Refine(Graph& graph, ValueId id, const Type& type) {
  const Type& have = graph.type(id);
  if (!type.shape || !have.is_tensor() || !have.CompatibleWith(type)) return;
  Type& refined = GraphEdit(graph).type(id);
  if (!refined.shape) {
    refined.shape = type.shape;
    return;
  }
  for (size_t i = 0; i < type.shape->size(); ++i) {
    if (!(*refined.shape)[i].known() && !(*type.shape)[i].unknown())
      (*refined.shape)[i] = (*type.shape)[i];
  }
}

absl::StatusOr<BodyGradient> DifferentiateBody(const Graph& body, absl::Span<const ValueId> targets,
                                               absl::Span<const ValueId> wrt,
                                               const GradientOptions& options,
                                               const std::string& prefix) {
  BodyGradient result;
  result.graph = std::make_unique<Graph>();
  Graph& graph = *result.graph;
  std::vector<ValueId> map(static_cast<size_t>(body.num_values()));
  for (const auto* read : {&body.inputs(), &body.captures()}) {
    for (const ValueId id : *read) {
      map[static_cast<size_t>(id.index)] =
          GraphEdit(graph).AddInput(graph.UniqueName(body.value(id).name), body.type(id));
    }
  }
  GraphCopier copier(body, graph, std::move(map));
  ONWARD_RETURN_IF_ERROR(copier.CopyNodes());
  std::vector<GradientTarget> given;
  for (const ValueId id : targets) {
    const ValueId cotangent =
        GraphEdit(graph).AddInput(graph.UniqueName(absl::StrCat("cotangent/", body.value(id).name)),
                                  CotangentType(body.type(id)));
    given.push_back({copier.Of(id), cotangent});
    result.cotangents.push_back(cotangent);
  }
  std::vector<ValueId> sources;
  for (const ValueId id : wrt) sources.push_back(copier.Of(id));
  result.copies = copier.TakeMap();
  GraphSink sink(graph, prefix);
  GradientOptions inner = options;
  inner.stop_at.clear();
  ONWARD_ASSIGN_OR_RETURN(const std::vector<Expr> gradients,
                          Differentiate(sink, given, sources, inner));
  for (const Expr& gradient : gradients) {
    result.gradients.push_back(gradient.id());
    if (gradient.valid() && !graph.is_output(gradient.id()))
      GraphEdit(graph).AddOutput(gradient.id());
  }
  RemoveUnread(graph, {}, 0);
  ONWARD_RETURN_IF_ERROR(TakeDrawn(body, result));
  return result;
}

void GiveMasks(const GradientScope& scope) {
  Graph& graph = scope.sink().graph();
  for (const Subgraph& subgraph : graph.node(scope.id()).subgraphs) {
    Graph& body = *subgraph.graph;
    for (const NodeId id : body.node_ids()) {
      const Node& node = body.node(id);
      if (!node.Is("Dropout") || !IsRandom(node)) continue;
      if (node.outputs.size() > 1 && node.outputs[1].valid()) continue;
      Node masked = NodeLike(node);
      masked.inputs = node.inputs;
      Type type = body.type(node.outputs[0]);
      type.dtype = DType::kBool;
      const std::string name = body.UniqueName(body.value(node.outputs[0]).name + "/mask");
      masked.outputs = {node.outputs[0], GraphEdit(body).AddValue(name, type)};
      GraphEdit(body).RemoveNode(id);
      GraphEdit(body).AddNode(std::move(masked));
    }
  }
}

Node NodeLike(const Node& node) {
  Node like = node.WithoutSubgraphs();
  like.inputs.clear();
  like.outputs.clear();
  like.doc_string.clear();
  like.metadata.clear();
  like.provider.clear();
  return like;
}

absl::StatusOr<std::vector<ValueId>> ReplaceNode(GraphSink& sink, NodeId id,
                                                 std::vector<Subgraph> subgraphs,
                                                 const std::vector<ValueId>& extra_inputs,
                                                 size_t at, size_t inserted, size_t appended) {
  Graph& graph = sink.graph();
  Node node = NodeLike(graph.node(id));
  node.doc_string = graph.node(id).doc_string;
  node.metadata = graph.node(id).metadata;
  node.inputs = graph.node(id).inputs;
  node.inputs.insert(node.inputs.end(), extra_inputs.begin(), extra_inputs.end());
  node.outputs = graph.node(id).outputs;
  node.subgraphs = std::move(subgraphs);
  // Outputs may be left out at the end; a Loop's body also gives a condition.
  const size_t given = node.subgraphs[0].graph->outputs().size() - inserted - appended;
  node.outputs.resize(given - (node.Is("Loop") ? 1 : 0));
  const auto new_value = [&] {
    return GraphEdit(graph).AddValue(
        graph.UniqueName(absl::StrCat(sink.prefix(), node.op_type, "/state")), Type());
  };
  for (ValueId& output : node.outputs) {
    if (!output.valid()) output = new_value();
  }
  for (size_t i = 0; i < inserted; ++i)
    node.outputs.insert(node.outputs.begin() + static_cast<std::ptrdiff_t>(at + i), new_value());
  for (size_t i = 0; i < appended; ++i) node.outputs.push_back(new_value());
  std::vector<ValueId> outputs = node.outputs;
  GraphEdit(graph).RemoveNode(id);
  ONWARD_RETURN_IF_ERROR(
      InferNode(graph, GraphEdit(graph).AddNode(std::move(node)), &sink.known()));
  return outputs;
}

}  // namespace onward::gradient
