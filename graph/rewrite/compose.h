// Several models as one graph: what one makes, others read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward {

// A model that takes part. Tensors are named by the composition.
struct CompositionStep {
  std::string name;  // for errors; "NAME/" stands before the names of its values and nodes
  Model model;
  std::map<std::string, std::string> inputs;   // by input: the tensor that it reads
  std::map<std::string, std::string> outputs;  // by output: the tensor that it makes
};

struct Composition {
  std::vector<CompositionStep> steps;        // in any order
  std::vector<std::string> inputs, outputs;  // tensors, the names of the result's values
  // The first open dims of all inputs are one size.
  bool one_batch = false;
};

// Steps of which nothing is asked for are not part of the result. An optional input to which
// nothing is mapped takes its default. Inputs have the type that the first step says that reads
// them. InvalidArgument names the step and the tensor: a name that the model does not have, an
// input without a tensor, a tensor that nobody or that two make, steps that wait for each other,
// types that do not meet.
absl::StatusOr<Model> Compose(Composition composition);

}  // namespace onward
