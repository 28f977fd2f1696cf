// The versions of domains besides ai.onnx that an exported model imports.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward::onnx_io {

// Adds the domains of the graph's nodes, bodies included, to `versions`: a version that is there
// already, else the newest that is known. A version that has removed an op that a node uses
// becomes the last one before that (TreeEnsembleClassifier of ai.onnx.ml 4). Unimplemented where no
// version has all of the ops.
absl::Status CollectDomainVersions(const Graph& graph, std::map<std::string, int64_t>& versions);

}  // namespace onward::onnx_io
