// The function body that a node's schema has for it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/import_scope.h"
#include "onward/graph.h"

namespace onward::onnx_io {

struct SchemaBody {
  onnx::FunctionProto function;
  Opsets opsets;
  // The values of the body's attribute references: the node's attributes, then the schema's
  // defaults.
  std::map<std::string, onnx::AttributeProto> attributes;
  // Names in the body that are values of the node's graph: what its subgraphs capture.
  std::map<std::string, ValueId> captures;
};

// Nothing where the schema has no body, or none for these attributes and input types.
absl::StatusOr<std::optional<SchemaBody>> BodyOf(const Graph& graph, NodeId id);

// Adds the body's nodes to `graph`, reading `inputs` and producing `outputs` (ids of its values,
// which must have no producer). New values and nodes are named with `prefix`. Their schemas are of
// the body's own opset (see UpgradeGraph); types are inferred.
absl::Status AddBody(const SchemaBody& body, const std::vector<ValueId>& inputs,
                     const std::vector<ValueId>& outputs, const std::string& prefix,
                     GraphFrame& frame);

// A frame for adding to a finished graph.
GraphFrame FrameOf(Graph& graph);

}  // namespace onward::onnx_io
