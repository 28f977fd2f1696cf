// The graph: values and nodes by id. A value has a type from birth; a constant is a value with
// data; a node names its op by ONNX's schema, its inputs and outputs by id, and owns its subgraphs,
// whose captures of outer values are explicit.
//
// Graphs are made by importing a file (import.h) or by expressions (builder.h), and changed inside
// the library alone (graph/ir/graph_edit.h). Not thread-safe while changed; const access is safe
// from many threads.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/attribute.h"
#include "onward/tensor.h"
#include "onward/type.h"

namespace onnx {
class OpSchema;
}

namespace onward {

struct ValueId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const ValueId&) const = default;
};

struct NodeId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const NodeId&) const = default;
};

class Graph;
using Metadata = std::map<std::string, std::string>;

// A graph-valued attribute. `captures[i]` is the outer value that the body knows as
// graph->captures()[i].
struct Subgraph {
  std::string attribute;  // "then_branch", "body"
  std::unique_ptr<Graph> graph;
  std::vector<ValueId> captures;
};

struct Node {
  Node();
  Node(Node&& other) noexcept;
  Node& operator=(Node&& other) noexcept;
  ~Node();

  const onnx::OpSchema* schema =
      nullptr;         // null: an op that no schema describes (kept for inspection)
  std::string domain;  // "" is ai.onnx
  std::string op_type;
  std::string name;
  std::string doc_string;
  Metadata metadata;
  std::vector<ValueId> inputs;   // an invalid id is an omitted optional input
  std::vector<ValueId> outputs;  // likewise
  Attributes attributes;
  std::vector<Subgraph> subgraphs;
  std::string provider;  // set by placement: "cpu", "cuda"
  std::string origin;    // the patches that made it: "fuse_conv_bn @ Conv_12"

  bool Is(std::string_view op, std::string_view of_domain = "") const {
    return op_type == op && domain == of_domain;
  }
  const Subgraph* FindSubgraph(std::string_view attribute) const;
  // A copy of all else.
  Node WithoutSubgraphs() const;
};

struct ValueData {
  std::string name;
  Type type;
  std::optional<Tensor> constant;
  NodeId producer;          // invalid: input, constant or capture
  int producer_output = 0;  // index among the producer's outputs
  std::string doc_string;
  Metadata metadata;
};

class Graph {
 public:
  Graph();
  Graph(const Graph& other);  // deep: subgraphs are copied, tensors share their buffers
  Graph& operator=(const Graph& other);
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  std::string name;
  std::string doc_string;
  Metadata metadata;

  int num_values() const { return static_cast<int>(values_.size()); }
  int num_nodes() const {
    return static_cast<int>(nodes_.size());
  }  // removed nodes included: see alive()
  const ValueData& value(ValueId id) const { return values_[static_cast<size_t>(id.index)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id.index)]; }
  bool alive(NodeId id) const { return alive_[static_cast<size_t>(id.index)]; }
  const Type& type(ValueId id) const { return value(id).type; }
  bool is_constant(ValueId id) const { return id.valid() && value(id).constant.has_value(); }
  // The constant's data, or null.
  const Tensor* constant(ValueId id) const;
  // Inputs that a caller feeds; an input with a constant is optional (its default value is the
  // constant).
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<ValueId>& captures() const { return captures_; }
  // Nodes that read the value as input or capture, each once, in order of id.
  const std::vector<NodeId>& users(ValueId id) const {
    return users_[static_cast<size_t>(id.index)];
  }
  bool is_output(ValueId id) const;
  bool is_input(ValueId id) const;
  ValueId FindValue(std::string_view name) const;  // invalid id when absent
  std::vector<NodeId> node_ids() const;            // alive nodes in order of insertion
  // Alive nodes, producers before users, otherwise in order of insertion. InvalidArgument names the
  // nodes of a cycle.
  absl::StatusOr<std::vector<NodeId>> TopologicalOrder() const;
  // "[Softmax 'attn/sm_3']" for messages; a nameless node is described by its first output.
  std::string Describe(NodeId id) const;
  // `wanted`, or `wanted` with a suffix that makes it unused among this graph's values.
  std::string UniqueName(std::string_view wanted) const;

 private:
  friend class GraphEdit;

  std::vector<ValueData> values_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<Node> nodes_;
  std::vector<bool> alive_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<ValueId> captures_;
  std::unordered_map<std::string, int32_t> names_;  // of values; the first of equal names
};

// The known elements of small integer values while a graph is walked.
using KnownElements =
    std::unordered_map<int32_t, SymbolicDims>;  // value index -> elements (rank 0: one)

// State that lives across runs: after a run, `input` takes the value of `output` (the standard's
// TrainingInfoProto bindings).
struct UpdateBinding {
  ValueId input;
  ValueId output;
};

// A graph and what a model file says about it.
struct Model {
  Model();
  Model(const Model& other);
  Model(Model&& other) noexcept;
  Model& operator=(const Model& other);
  Model& operator=(Model&& other) noexcept;
  ~Model();

  Graph graph;
  std::vector<UpdateBinding> updates;
  std::map<std::string, int64_t>
      opsets;  // domain -> version; "" at the one version used inside after import
  int64_t ir_version = 0;
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  int64_t model_version = 0;
  std::string doc_string;
  Metadata metadata;
};

}  // namespace onward
