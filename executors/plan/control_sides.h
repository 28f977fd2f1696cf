// The sides of the values of If, Loop and Scan.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "executors/plan/dim_arithmetic.h"
#include "executors/plan/node_sides.h"
#include "onward/graph.h"

namespace onward::executors {

// A node whose inputs and outputs meet those of its bodies. Input i of a Loop or Scan is the body's
// input i; output i is result i + first_result of each body.
struct ControlFlow {
  int first_carried = 0;  // among inputs; before them stand a Loop's number of turns and condition
  int carried = 0;
  int scanned = 0;       // inputs behind them
  int first_result = 0;  // behind a Loop's condition
  bool is_loop = false;
};

// Null: another op, or a node that the device leaves to the host.
std::optional<ControlFlow> ControlFlowOf(const Node& node);

// Carried values, counted from 0, that begin as what the host knows before the first turn.
std::set<int> CarriedThatMayBeKnown(const Graph& graph, const Node& node,
                                    const ControlFlow& control, const DimArithmetic& of_dims);
// Values of the body that follow from dims if those carried values do.
std::set<int32_t> KnownInBody(const Subgraph& subgraph, const ControlFlow& control,
                              const std::set<int>& carried, const DimArithmetic& of_dims);
// Returns whether the body gives a carried value as one that follows from dims.
bool StaysKnown(const Graph& body, const GraphSides& sides, const ControlFlow& control,
                int carried);
// Where inputs and captures of the body lie, as far as the outer graph says.
std::vector<Side> BordersOf(const Node& node, const Subgraph& subgraph, const ControlFlow& control,
                            const GraphSides& outer);

// The sides of a node that the device runs. `known`: carried values that the host keeps.
NodeSides SidesOfControlFlow(const Graph& graph, const Node& node, const ControlFlow& control,
                             const GraphSides& outer, std::vector<GraphSides> bodies,
                             const std::set<int>& known);

}  // namespace onward::executors
