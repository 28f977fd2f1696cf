// Merged weights of exports that name the parameter of each input
// (training/source/torch_operands.h).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "onward/graph.h"
#include "training/source/separated_weight.h"

namespace onward::training {

// Gives each parameter that PyTorch's exporter (dynamo=True) merged with an initializer of equal
// values an initializer of its own, under the parameter's name (or, of a folded one, under one made
// from the initializer's). Numbers of formulas that were merged with a parameter become constants
// of their own. `settled` gets the names of initializers whose every input is certain; nothing else
// is to be taken apart in those. Changes nothing in files that do not name the parameters.
std::vector<SeparatedWeight> SeparateByOperands(Graph& graph,
                                                std::vector<std::string>& initializers,
                                                absl::Span<const std::string> shared,
                                                std::set<std::string>& settled);

}  // namespace onward::training
