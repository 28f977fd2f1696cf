// The values of a model's parameters and buffers by name, out of it and into it: PyTorch's
// state_dict and load_state_dict.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/tensor.h"

namespace onward::training {

using StateDict = std::map<std::string, Tensor>;

// Parameters and buffers (onward/nn/parameters.h) as they are; buffers of memory are shared.
StateDict StateDictOf(const Model& model);

struct LoadOptions {
  // Every parameter has a value of its shape, and every value is of a parameter. False: what fits
  // is loaded.
  bool strict = true;
  // In order, on the names of the values that are given: what matches the regular expression
  // (ECMAScript) is replaced ("$1" are groups): {"^module\\.", ""}.
  std::vector<std::pair<std::string, std::string>> renames = {};
  // Patterns (graph/base/name_pattern.h), after renaming: values that are left out and not counted
  // as unexpected.
  std::vector<std::string> ignored = {};
  // Patterns, after renaming: matrices that are the transposes of the parameters.
  std::vector<std::string> transposed = {};
};

struct LoadReport {
  int loaded = 0;
  std::vector<std::string> missing;     // parameters without a value
  std::vector<std::string> unexpected;  // values of no parameter
  std::vector<std::string> mismatched;  // "fc.weight is float32[10,5], got float32[5,10]"
  bool complete() const { return missing.empty() && unexpected.empty() && mismatched.empty(); }
  std::string ToString() const;
};

// Floats of another dtype are converted. A value that no parameter has but that equals a loaded one
// (tied weights are written twice) is not unexpected; neither are PyTorch's num_batches_tracked.
// InvalidArgument: a strict load that is not complete (nothing is loaded then), a wrong regular
// expression, two values of one name.
absl::StatusOr<LoadReport> LoadStateDict(Model& model, const StateDict& values,
                                         const LoadOptions& options = {});

// From a safetensors file, or from several by their index (files/safetensors_shards.h); to one.
absl::StatusOr<LoadReport> LoadStateDict(Model& model, const std::string& path,
                                         const LoadOptions& options = {});
absl::Status SaveStateDict(const Model& model, const std::string& path);

}  // namespace onward::training
