// The modules of the source that the nodes of an export come from, as exporters note them:
// PyTorch's with dynamo=True in the metadata of nodes, the older one in their names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "onward/graph.h"

namespace onward::training {

// The path of the innermost module that has the node, as "layers.0.norm1" in named_modules(); ""
// where nothing tells, and for the outermost module. Calls of one module have one path.
std::string ModulePath(const Node& node);

// The module around one, by their paths: "layer1" of "layer1.conv"; "" is the outermost.
std::string OuterModule(const std::string& path);

// The classes of the modules around the node, by path, as {"layers.0.norm1", "LayerNorm"}; the
// outermost has the path "". Empty where the file does not say.
std::vector<std::pair<std::string, std::string>> ModuleClasses(const Node& node);

}  // namespace onward::training
