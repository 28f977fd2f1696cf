// Formulas as the schemas of ops, and nodes replaced by their formula.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/formula.h"
#include "onward/graph.h"

namespace onnx {
class OpSchema;
struct InferenceContext;
}  // namespace onnx

namespace onward {

// An op that no formula can express has none, but says its outputs' types; it needs kernels.
struct FormulaOp {
  std::string_view signature;  // see graph/ops/signature.h
  Formula formula;
  void (*types)(onnx::InferenceContext& context) = nullptr;
};

absl::StatusOr<onnx::OpSchema> FormulaSchema(const std::string& domain, const FormulaOp& op);

// The schemas of every op of the families. A wrong row aborts: it is our own table, and every test
// would meet it.
std::vector<onnx::OpSchema> FormulaSchemas(const std::string& domain,
                                           absl::Span<std::vector<FormulaOp> (*const)()> families);

bool HasFormula(const onnx::OpSchema& schema);

// Writes what the node computes; its inputs are values of the sink's graph. The results are in the
// order of its outputs. The schema must have a formula.
absl::StatusOr<std::vector<Expr>> WriteFormula(GraphSink& sink, const Node& node);

// Replaces the node by its formula; returns false when its op has none.
absl::StatusOr<bool> ExpandFormula(Graph& graph, NodeId id);

}  // namespace onward
