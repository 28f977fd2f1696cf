#include "nn/row_norm.h"

#include <cmath>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "graph/ir/graph_edit.h"
#include "graph/ops/onward_schemas.h"
#include "onward/functions.h"

namespace onward::nn {
namespace {

using namespace expr;  // NOLINT: reads as formulas

// In the metadata of a lookup: the largest norm, its type, and the table's name.
constexpr char kMaxNormKey[] = "onward.max_norm";

}  // namespace

Expr RowNorms(const Expr& rows, double type) {
  const Expr sizes = Abs(rows);
  if (type == 2) return Op("ReduceL2", {rows, rows.sink()->Ints({-1})});
  if (type == 1) return ReduceSum(sizes, {-1});
  if (std::isinf(type))
    return type > 0 ? ReduceMax(sizes, {-1}) : Op("ReduceMin", {sizes, rows.sink()->Ints({-1})});
  if (type == 0) return ReduceSum(Cast(Not(Equal(rows, ScalarLike(rows, 0))), rows.dtype()), {-1});
  return Pow(ReduceSum(Pow(sizes, ScalarLike(rows, type)), {-1}), ScalarLike(rows, 1 / type));
}

Expr RowScales(const Expr& rows, double most, double type) {
  const Expr norms = RowNorms(rows, type);
  return Where(Greater(norms, ScalarLike(norms, most)), ScalarLike(norms, most) / (norms + 1e-7),
               ScalarLike(norms, 1));
}

Expr BoundedLookup(GraphSink& sink, const Expr& table, const Expr& ids, double most, double type) {
  const Expr rows = Gather(table, ids);
  if (!rows.valid()) return {};
  if (rows.sink() == &sink) {
    Graph& graph = sink.graph();
    GraphEdit(graph).node(graph.value(rows.id()).producer).metadata[kMaxNormKey] =
        absl::StrCat(absl::StrFormat("%.17g %.17g ", most, type), graph.value(table.id()).name);
  }
  const Expr change = rows * (RowScales(rows, most, type) - 1.0);
  return rows + Op("StopGradient", {change}, {}, std::string(kOnwardDomain));
}

Expr BoundedTable(GraphSink& sink, ValueId table) {
  Graph& graph = sink.graph();
  Expr bounded;
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    const auto mark = node.metadata.find(kMaxNormKey);
    if (mark == node.metadata.end() || !node.Is("Gather")) continue;
    const std::vector<std::string> words = absl::StrSplit(mark->second, absl::MaxSplits(' ', 2));
    double most = 0, type = 2;
    if (words.size() != 3 || words[2] != graph.value(table).name ||
        !absl::SimpleAtod(words[0], &most) || !absl::SimpleAtod(words[1], &type))
      continue;
    if (!bounded.valid()) bounded = sink.Value(table);
    const Expr ids = Unsqueeze(Cast(sink.Value(node.inputs[1]), DType::kInt64), {-1});
    const Expr rows = Op("GatherND", {bounded, ids});
    bounded = Op("ScatterND", {bounded, ids, rows * RowScales(rows, most, type)});
  }
  return bounded;
}

}  // namespace onward::nn
