// What the command line feeds a model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executors/session.h"

namespace onward::cli {

struct InputOptions {
  std::vector<std::string> inputs;  // NAME=FILE, NAME=1,2,3 or FILE.npz
  std::vector<std::string> shapes;  // NAME=1x3x224x224
  bool random = false;
  uint64_t seed = 0;
};

// Reads, parses or draws every input of the model. An input that is neither given nor optional is
// an error unless `random`. Unknown dims of random inputs are 1 where no shape is given.
absl::StatusOr<Session::Inputs> MakeInputs(const std::vector<ValueInfo>& declared,
                                           const InputOptions& options);

// "1x3x224x224" (or with commas).
absl::StatusOr<Dims> ParseDims(const std::string& text);

// Elements drawn from a generator that is the same on every machine: floats in [0, 1), integers in
// {0, 1}.
Tensor RandomTensor(DType dtype, DimsView dims, uint64_t seed);

}  // namespace onward::cli
