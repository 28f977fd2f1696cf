// Models in ONNX's text syntax, and what passes make of them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/passes/pass.h"
#include "onward/graph.h"

namespace onward::testing {

// Parses and imports `name (inputs) => (outputs) <initializers> {...}` as a model of opset 28.
absl::StatusOr<Model> ModelFromText(const std::string& text);

// One line per node in topological order: "y = Gemm(x, w, b)".
std::string Nodes(const Graph& graph);

// Runs both graphs as they are on the same random inputs (symbolic dims are 3) and describes the
// first difference; empty when there is none.
std::string ValueDifference(const Graph& before, const Graph& after, double rtol = 1e-5);

// The graph of `text` after inference and `passes`, which is verified and gives the same values.
// Failures are reported to the running test.
Graph Optimize(const std::string& text, const std::vector<Pass>& passes, double rtol = 1e-5);
// The same for one pass.
using RunPass = absl::StatusOr<int> (*)(Graph& graph, const PassOptions& options, int& budget);
Graph Optimize(const std::string& text, RunPass pass, double rtol = 1e-5);

}  // namespace onward::testing
