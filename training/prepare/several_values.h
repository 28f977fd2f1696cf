// Marks normalizations whose statistics a training must not take over one value.
#pragma once

#include <functional>

#include "onward/graph.h"

namespace onward::training {

// InstanceNormalizations and GroupNormalizations refuse such inputs where PyTorch's do, in bodies
// too; BatchNormalizations are marked where they are made to train (training/prepare/mode.h).
void RequireSeveralValues(Graph& graph,
                          const std::function<bool(const Graph&, const Node&)>& frozen);

// Takes the marks away, those of BatchNormalizations too.
void AllowOneValue(Graph& graph);

}  // namespace onward::training
