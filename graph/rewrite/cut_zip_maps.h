// Outputs that are a map per row (ZipMap of ai.onnx.ml, as exporters of scikit-learn add it) as
// tensors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onward/graph.h"

namespace onward {

// Each output that a ZipMap makes becomes the tensor that the ZipMap reads, a column per class,
// under the output's name. Returns the classes by output, in the order of the columns. Other
// ZipMaps stay, and those of a graph's input or constant.
std::map<std::string, std::vector<std::string>> CutZipMaps(Graph& graph);

}  // namespace onward
