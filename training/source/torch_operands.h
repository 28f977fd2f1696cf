// Which operand of torch.export's graph an input of a node stands for.
//
// PyTorch's exporter (dynamo=True) writes beside each node the text of the fx node that it comes
// from: "%mul : ... = call_function[target=torch.ops.aten.mul.Tensor](args = (%y, %detach), ...".
// Its optimizer removes nodes that compute nothing and merges equal values, so an input may be
// another value than the operand: here `y` itself is read in place of `%detach`.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "onward/graph.h"
#include "training/source/torch_export.h"

namespace onward::training {

struct TorchOperand {
  NodeId node;
  int input = 0;
  // "detach", "p_fc_weight"; "" where the input is none of the operands: a number in the source.
  std::string name;
  std::string fx_node;  // what the node is part of: "mul"
};

struct TorchOperands {
  // Float inputs that come from another fx node, whose operand is certain.
  std::vector<TorchOperand> certain;
  // Those whose operand is one of several: `name` is each of them, with a comma between.
  std::vector<TorchOperand> uncertain;
};

// Looks at the nodes of this graph, not at those of bodies.
TorchOperands FindTorchOperands(const Graph& graph, const TorchExport& exported);

// The names of all operands that the texts beside nodes have, in bodies too.
std::set<std::string> OperandNames(const Graph& graph);

// The name of the fx node that the node comes from; "" where the file does not say.
std::string FxNodeOf(const Node& node);
// Returns whether the node is a `detach()` of the source.
bool IsDetach(const Node& node);

}  // namespace onward::training
