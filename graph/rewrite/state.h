// State of a model: inputs with a value to start with, which a run's outputs update.
#pragma once

#include <string>

#include "onward/graph.h"

namespace onward {

// An input whose default is `initial`. The name is taken as it is.
ValueId AddState(Graph& graph, const std::string& name, Tensor initial);

// The constant as such an input, under its name; an input stays what it is. Other users of the
// constant read the input too.
ValueId ConstantToState(Graph& graph, ValueId constant);

// After a run, `state` takes the value of `next`, which becomes the output "next/<state's name>".
void AddUpdate(Model& model, ValueId state, ValueId next);

}  // namespace onward
