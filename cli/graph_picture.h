// A graph as a picture in the language of Graphviz, for onward inspect --picture.
#pragma once

#include <string>

#include "onward/graph.h"

namespace onward::cli {

// A box a node, inside those of its modules where an exporter notes them (training/source/
// module_path.h); inputs and outputs as ovals, types at the edges, constants left out. Bodies of
// control flow are boxes of their own, with dashed edges for what they capture.
std::string PictureOf(const Graph& graph);

}  // namespace onward::cli
