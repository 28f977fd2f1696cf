// A new last layer on a model that was trained for something else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/train_config.pb.h"

namespace onward::training {

// Puts a linear layer on the value that `config` names, drawn from `seed` as torch.nn.Linear is.
// It becomes the model's only output; what nothing needs any more falls. Returns the names of the
// layer's parameters. InvalidArgument: no such value, one that is not a float tensor with a known
// last dim, a name that is taken.
absl::StatusOr<std::vector<std::string>> AddHead(const HeadConfig& config, uint64_t seed,
                                                 Model& model);

}  // namespace onward::training
