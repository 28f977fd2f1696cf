// Notes that PyTorch's exporter (torch.onnx.export with dynamo=True) writes beside a graph: which
// initializers are parameters, which are buffers or constants, and what folded ones were made of.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "onward/graph.h"

namespace onward::training {

// Keys of the metadata of initializers.
inline constexpr char kTorchKindKey[] = "pkg.torch.export.graph_signature.InputSpec.kind";
inline constexpr char kTorchPlaceholderKey[] = "pkg.torch.onnx.original_node_name";
inline constexpr char kTorchFoldedKey[] = "pkg.onnxscript.optimizer.folded_from";

enum class TorchKind {
  kUnsaid,     // the file says nothing
  kParameter,  // an nn.Parameter, trained or not: requires_grad is not in the file
  kBuffer,
  kConstant,  // of a formula
  kFolded,    // computed by the exporter from parameters, and from others perhaps
};

struct TorchInitializer {
  TorchKind kind = TorchKind::kUnsaid;
  // kFolded: the parameters among what it was computed from.
  std::vector<std::string> parameters = {};
  // kFolded: its elements are those of the parameters, moved: a transpose, a reshape. A step of an
  // optimizer then does the same to both.
  bool moved = false;
  // kFolded: moved, and no gradient goes back to the parameters: `weight.detach().t()`.
  bool detached = false;
  bool mentions_detach = false;  // something among what it was computed from is detached
};

class TorchExport {
 public:
  // Reads the metadata of the graph and of its values.
  explicit TorchExport(const Graph& graph);

  // Returns whether the file says anything of its initializers.
  bool speaks() const { return speaks_; }
  TorchInitializer Find(const Graph& graph, ValueId initializer) const;
  // The parameter or buffer that torch.export's graph knows as `placeholder` ("p_fc_weight"); ""
  // for others.
  std::string Target(std::string_view placeholder) const;
  // The name in the file of what torch.export's graph knows as `placeholder`, an input of the graph
  // included; "" where it is not known.
  std::string ValueName(std::string_view placeholder) const;
  bool IsParameter(std::string_view name) const;
  std::vector<std::string> parameters() const;

 private:
  bool speaks_ = false;
  std::map<std::string, std::string, std::less<>> targets_;  // placeholder -> name
  std::map<std::string, std::string, std::less<>> inputs_;   // placeholder -> name
  std::map<std::string, TorchKind, std::less<>> kinds_;      // by name
};

// "view_3" -> "view", "detach" -> "detach": the op in the name of a node of torch.export's graph.
std::string_view WithoutNumber(std::string_view name);

}  // namespace onward::training
