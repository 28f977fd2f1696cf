// A model that also computes gradients, with names that say what they are.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/gradient.h"
#include "onward/graph.h"

namespace onward::training {

struct GradientModelOptions {
  std::vector<std::string> of;   // what is differentiated: any float tensors
  std::vector<std::string> wrt;  // what for: any float tensors
  bool allow_onward_ops = false;
  // The model's weights: what is computed from them stays computed. Empty: all constants that hold
  // floats.
  std::vector<std::string> initializers = {};
};

struct GradientNames {
  std::vector<std::string> inputs;   // "grad/Y", of every Y that is not certainly a scalar
  std::vector<std::string> outputs;  // "grad/X", in the order of `wrt`
};

// Adds to the model an input "grad/Y" of Y's type for every differentiated value of rank > 0 (a
// scalar's cotangent is 1) and an output "grad/X" for every X, with X's type; what the model had
// stays; inner values may go, where constants compute them or they are another value. A name that
// an input or output has already gets a suffix. Without `allow_onward_ops` no op of the domain
// `onward` is added, and StopGradient nodes become Identity. Names that are given twice count once.
// NotFound: a tensor that the model does not have; others as AddGradients.
absl::StatusOr<GradientNames> MakeGradientModel(Model& model, const GradientModelOptions& options);

// Folds the arithmetic with shapes that rules write where types know the sizes, and what is
// computed twice. Everything that is left computes what it did; inner values may go.
absl::Status SimplifyShapeArithmetic(Model& model);

}  // namespace onward::training
