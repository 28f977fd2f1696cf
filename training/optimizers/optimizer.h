// Optimizers as rewrites: each parameter gets a node that computes its next value and the next
// state (graph/optimizers), bound to be updated after a run. Names, defaults and numbers are
// PyTorch's; Lion and LAMB are as their papers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/optimizers/optimizer_entry.h"
#include "onward/graph.h"

namespace onward::training {

// The first option that the optimizer does not have, or a value that it does not take.
struct OptionProblem {
  std::string option;  // "" where there is none
  std::string reason;  // "= 1 is not in [0, 1)"
};
OptionProblem CheckOptions(const OptimizerEntry& entry, const OptimizerOptions& options);

// Parameters that share options. `gradients` are in the order of `parameters`, which are float
// constants of the model or inputs with a default.
struct ParameterGroup {
  std::string name;  // "" for an only group
  std::vector<ValueId> parameters;
  std::vector<ValueId> gradients;
  OptimizerOptions options;  // on top of the optimizer's
};

struct OptimizerConfig {
  std::string name;
  OptimizerOptions options;
  // Standard ops instead of one `onward` op a parameter.
  bool portable = false;
};

// The settings that a schedule writes: the model's input `input` is double[settings.size()], with
// the values at the start as its default.
struct GroupSettings {
  std::string input;
  std::vector<std::string> settings;
  std::vector<double> values;
};

// Adds the update of every parameter. A parameter becomes an input with its value as default and
// gets the output "next/<name>"; state is "optimizer/<name>/<kind>", the number of the coming step
// "optimizer/step" (int64, 1 at first). InvalidArgument: an unknown optimizer or option (with the
// known ones), a value out of range, a parameter that is not a float tensor of known dims.
absl::StatusOr<std::vector<GroupSettings>> AddOptimizer(Model& model, const OptimizerConfig& config,
                                                        absl::Span<const ParameterGroup> groups);

}  // namespace onward::training
