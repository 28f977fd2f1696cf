#include "training/rewrite/all_reduce.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "graph/rewrite/match.h"
#include "graph/rewrite/state.h"
#include "onward/dim.h"
#include "onward/functions.h"
#include "onward/status.h"
#include "training/rewrite/names.h"

namespace onward::training {

using namespace expr;  // NOLINT: reads as formulas

namespace {

Expr BatchShare(GraphSink& sink, std::optional<ValueId>& share) {
  if (!share) share = AddState(sink.graph(), kBatchShare, Tensor::Scalar(1.0));
  return sink.Value(*share);
}

// 1, or 0 where the rank's rows count for nothing.
Expr Counted(const Expr& share) {
  return Cast(Greater(share, ScalarLike(share, 0)), share.dtype());
}

// The sum over all ranks.
Expr AllReduce(const Expr& value) { return Op("AllReduce", {value}, {}, kOnwardDomain); }

using Symbols = std::set<std::string>;

// Names of the sizes of batches.
Symbols RowsOf(const Graph& graph) {
  Symbols symbols;
  for (const ValueId id : graph.inputs()) {
    const Type& type = graph.type(id);
    if (graph.is_constant(id) || !type.is_tensor() || !type.shape || type.shape->empty()) continue;
    for (std::string& symbol : DimSymbols((*type.shape)[0])) symbols.insert(std::move(symbol));
  }
  return symbols;
}

// The first dim that depends on the rows, or that nothing is known of; -1: there is none.
int BatchAxis(const Type& type, const Symbols& rows) {
  if (!type.is_tensor() || !type.shape) return 0;
  const auto depends = [&](const Dim& dim) {
    const std::vector<std::string> symbols = DimSymbols(dim);
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](const std::string& symbol) { return rows.contains(symbol); });
  };
  const auto& dims = *type.shape;
  auto axis = std::find_if(dims.begin(), dims.end(), depends);
  if (axis == dims.end())
    axis = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.unknown(); });
  return axis == dims.end() ? -1 : static_cast<int>(axis - dims.begin());
}

void MarkAxes(Graph& graph, const Symbols& rows) {
  for (const NodeId id : graph.node_ids()) {
    Node& node = GraphEdit(graph).node(id);
    for (Subgraph& body : node.subgraphs) MarkAxes(*body.graph, rows);
    if (!node.subgraphs.empty() || !IsRandom(node) || node.outputs.empty()) continue;
    const int axis = BatchAxis(graph.type(node.outputs[0]), rows);
    if (axis >= 0) node.metadata[kBatchAxisKey] = absl::StrCat(axis);
  }
}

}  // namespace

void MarkBatchAxes(Graph& graph) { MarkAxes(graph, RowsOf(graph)); }

absl::Status AllReduceGradients(Model& model, const std::vector<std::string>& names,
                                std::vector<ValueId>& gradients) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    GraphSink sink(model.graph, "all_reduce/" + names[i] + "/");
    const Expr sum = AllReduce(sink.Value(gradients[i]));
    ONWARD_RETURN_IF_ERROR(sink.status());
    gradients[i] = sum.id();
  }
  return absl::OkStatus();
}

SummedLoss AllReduceLoss(GraphSink& sink, const Expr& sum, const Expr& count,
                         std::optional<ValueId>& share) {
  const Expr counted = Counted(BatchShare(sink, share));
  SummedLoss made;
  made.own = sum * Cast(counted, sum.dtype());
  made.sum = AllReduce(made.own);
  if (count.valid()) made.count = AllReduce(count * Cast(counted, count.dtype()));
  return made;
}

absl::Status AllReduceUpdates(Model& model, std::optional<ValueId>& share) {
  Graph& graph = model.graph;
  GraphSink sink(graph, "all_reduce/");
  for (UpdateBinding& update : model.updates) {
    const ValueId own = update.output;
    if (!IsFloating(graph.type(own).dtype)) continue;
    const Expr weight = Cast(BatchShare(sink, share), graph.type(own).dtype);
    const Expr mean = AllReduce(sink.Value(own) * weight);
    ONWARD_RETURN_IF_ERROR(sink.status());
    GraphEdit(graph).MoveName(own, mean.id(), "/own");
    for (size_t i = 0; i < graph.outputs().size(); ++i)
      if (graph.outputs()[i] == own) GraphEdit(graph).SetOutput(static_cast<int>(i), mean.id());
    update.output = mean.id();
  }
  return absl::OkStatus();
}

}  // namespace onward::training
