// One node as a rule of the upgrade sees and changes it, and the nodes that it is rewritten to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onward/graph.h"

namespace onward::onnx_io {

class NodeUpgrade {
 public:
  NodeUpgrade(Graph& graph, NodeId id);

  // The rules' working copy. Its ids are the graph's; it replaces the old node when the upgrade is
  // committed, unless it is dropped.
  Node node;

  const Graph& graph() const { return graph_; }
  Attributes& attributes() { return node.attributes; }
  bool Has(std::string_view attribute) const { return node.attributes.Has(attribute); }

  int num_outputs() const { return static_cast<int>(node.outputs.size()); }
  // Invalid when omitted.
  ValueId input(int index) const { return At(node.inputs, index); }
  ValueId output(int index) const { return At(node.outputs, index); }
  // Grows the list of inputs as needed.
  void SetInput(int index, ValueId value);

  // Facts about a value of the old graph; nothing is known of what this upgrade adds.
  std::optional<int64_t> Rank(ValueId value) const;
  DType dtype(ValueId value) const;

  // New constants. `role` becomes part of the name.
  ValueId Constant(std::string_view role, Tensor data);
  ValueId Int64s(std::string_view role, const std::vector<int64_t>& values);  // 1-D
  ValueId Int64(std::string_view role, int64_t value);                        // scalar
  // A scalar of the dtype that `like` has, known or not.
  ValueId FloatLike(std::string_view role, float value, ValueId like);

  // New nodes of ai.onnx, written in the newest opset's meaning; one output.
  ValueId Add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {});
  // The same with `output` as the output, which must come from TakeOutput.
  void AddAs(ValueId output, std::string_view op, std::vector<ValueId> inputs,
             Attributes attributes = {});
  // Gives the node a new value for the output and returns the old one, for AddAs to produce.
  ValueId TakeOutput(int index);
  // The new nodes replace the node altogether.
  void Drop() { dropped_ = true; }
  bool dropped() const { return dropped_; }

  // Turns an attribute of integers into the input: one integer becomes a 1-D tensor, too. Nothing
  // happens when the attribute is absent.
  void AttributeToInput(std::string_view attribute, int input);

  // The rank of a value as a 1-D tensor of one int64, computed in the graph.
  ValueId RankTensor(ValueId value);
  // `count` (1-D, one int64) ones as a 1-D int64 tensor.
  ValueId Ones(ValueId count);

  // Writes the result into the graph.
  void Commit();

 private:
  static ValueId At(const std::vector<ValueId>& ids, int index) {
    return index < static_cast<int>(ids.size()) ? ids[static_cast<size_t>(index)] : ValueId();
  }
  ValueId NewValue(std::string_view role);

  Graph& graph_;
  NodeId id_;
  std::vector<Node> added_;
  bool dropped_ = false;
};

}  // namespace onward::onnx_io
