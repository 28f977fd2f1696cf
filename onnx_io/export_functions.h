// Ops of the domain `onward` as model-local functions, so that other runtimes can run them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/export_graph.h"
#include "onward/graph.h"

namespace onward::onnx_io {

// One function per op and distinct body; `overloads` tells them apart.
struct LocalFunctions {
  std::vector<Graph> bodies;
  std::vector<onnx::FunctionProto> protos;  // without opset imports
  Overloads overloads;                      // of the nodes of the graphs given
};

// Adds those that the nodes of `graph` and its subgraphs need. Unimplemented for an op that has
// neither formula nor body.
absl::Status AddLocalFunctions(const Graph& graph, LocalFunctions& functions);

}  // namespace onward::onnx_io
