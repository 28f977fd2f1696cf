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
// ("nesterov", "amsgrad", "maximize") are 0 or 1. Each stands in the optimizer's entry; what is not
// named has its default.
using OptimizerOptions = std::map<std::string, double>;

struct OptimizerSetting {
  std::string_view name;
  double default_value;
  double least, most;  // what is allowed, both included
};
// An option that is 0 or 1, as an attribute of the step's op.
struct OptimizerSwitch {
  std::string_view name;
  std::string_view attribute;
  bool default_value = false;
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
  std::string_view name;  // "AdamW"
  std::string_view op;    // of the domain onward
  // Numbers that the op reads in a row, in this order; they may change from step to step.
  std::vector<OptimizerSetting> settings;
  std::vector<OptimizerSwitch> switches;
  std::vector<OptimizerSetting> choices;         // what `states` depends on besides the settings
  std::vector<std::string_view> fixed_switches;  // attributes of the op that are always 1
  OptimizerStates states;
};

// Every optimizer, in alphabetical order.
const std::vector<OptimizerEntry>& Optimizers();
const OptimizerEntry* FindOptimizer(std::string_view name);  // null: none

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
