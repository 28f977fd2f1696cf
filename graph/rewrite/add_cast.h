// A Cast between two values that are there.
#pragma once

#include <string_view>

#include "onward/graph.h"

namespace onward {

// Makes `to`, which has no producer, of `from`; `origin` is the rewrite that asks.
NodeId AddCast(Graph& graph, ValueId from, ValueId to, std::string_view origin);

}  // namespace onward
