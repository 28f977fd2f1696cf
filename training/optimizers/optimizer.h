// Optimizers as rewrites: each parameter gets a node that computes its next value and the next
// state (graph/optimizers), bound to be updated after a run. Names, defaults and numbers are
// PyTorch's; Lion and LAMB are as their papers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"

namespace onward {

// By PyTorch's names ("lr", "weight_decay", "eps", ...); betas are "beta1" and "beta2", switches
// ("nesterov", "amsgrad", "maximize") are 0 or 1. What is not named has its default.
using OptimizerOptions = std::map<std::string, double>;

// Values that one step's op reads in a row; their order is that of OptimizerEntry::settings.
struct OptimizerSetting {
  std::string_view name;
  double default_value;
  double least, most;  // what is allowed, both included
};

// What an optimizer keeps of a parameter from step to step, with its value before the first; an
// empty name is a state that the options leave out.
struct OptimizerState {
  std::string name;
  Tensor initial;
};
// In the order of the op's inputs. `options` are complete; `parameter` has known dims.
using OptimizerStates = std::vector<OptimizerState> (*)(const OptimizerOptions& options,
                                                        const Type& parameter);

struct OptimizerEntry {
  std::string_view name;                   // "AdamW"
  std::string_view op;                     // of the domain onward
  std::vector<OptimizerSetting> settings;  // may change from step to step
  std::vector<OptimizerSetting>
      choices;  // decided when the graph is made; switches become attributes
  OptimizerStates states;
};

// Every optimizer, in alphabetical order.
const std::vector<OptimizerEntry>& Optimizers();

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

// Where a schedule writes: the model's input `input` is double[settings.size()], with the values at
// the start as its default.
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

}  // namespace onward
