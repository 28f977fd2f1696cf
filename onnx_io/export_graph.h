// Graph -> GraphProto.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "onnx/onnx_pb.h"
#include "onward/graph.h"

namespace onward::onnx_io {

// Names that the values of a graph get in the file: their own, made different from all that are
// visible, since the standard's subgraphs may not hide outer names.
struct ExportNames {
  const ExportNames* outer = nullptr;
  std::vector<std::string> of;  // by value index; empty for values that nothing names
  absl::flat_hash_set<std::string> taken;

  bool Visible(const std::string& name) const;
  const std::string& operator[](ValueId id) const { return of[static_cast<size_t>(id.index)]; }
};

// The overloads of nodes of the domain `onward`: that of the model-local function that
// stands for each.
using Overloads = std::map<const Node*, std::string>;

// Writes the data of a large constant elsewhere, or returns false: it goes into the proto.
class ExternalWriter {
 public:
  virtual ~ExternalWriter() = default;
  virtual bool Take(const Tensor& tensor, const std::string& name, onnx::TensorProto* proto) = 0;
};

class GraphExporter {
 public:
  // Both may be null; they must outlive the exporter.
  explicit GraphExporter(const Overloads* overloads = nullptr, ExternalWriter* external = nullptr)
      : overloads_(overloads), external_(external) {}

  // `captures`: the names of the graph's captures, in `outer`. InvalidArgument for a cycle.
  absl::Status ExportGraph(const Graph& graph, const std::vector<std::string>& captures,
                           const ExportNames* outer, onnx::GraphProto* proto);

  // The body of a function: constants are nodes. The names of inputs and outputs come back in the
  // function.
  absl::Status ExportFunction(const Graph& graph, onnx::FunctionProto* function);

 private:
  ExportNames NameValues(const Graph& graph, const std::vector<std::string>& captures,
                         const ExportNames* outer) const;
  absl::Status ExportNode(const Graph& graph, NodeId id, const ExportNames& names,
                          onnx::NodeProto* proto);
  void ExportInitializer(const Tensor& tensor, const std::string& name, onnx::TensorProto* proto);

  const Overloads* overloads_;
  ExternalWriter* external_;
};

// Fills metadata_props of a proto, in order of keys.
template <typename Proto>
void MetadataToProto(const Metadata& metadata, Proto* proto) {
  for (const auto& [key, value] : metadata) {
    auto* entry = proto->add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
}

}  // namespace onward::onnx_io
