// State of a model: inputs with a value to start with, which a run's outputs update.
#pragma once

#include <optional>
#include <string>

#include "onward/graph.h"

namespace onward {

// An input whose default is `initial`. The name is taken as it is.
ValueId AddState(Graph& graph, const std::string& name, Tensor initial);

// Gives a constant, or an input that has a default, another value of its type; none: the data lie
// elsewhere from now on.
void SetConstant(Graph& graph, ValueId id, std::optional<Tensor> value);

// The constant as such an input, under its name or `name`; an input stays one. Other users of the
// constant read the input too.
ValueId ConstantToState(Graph& graph, ValueId constant, const std::string& name = "");

// After a run, `state` takes the value of `next`, which becomes the output "next/<state's name>".
void AddUpdate(Model& model, ValueId state, ValueId next);

}  // namespace onward
