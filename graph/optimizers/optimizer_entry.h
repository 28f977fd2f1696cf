// The table of optimizers: one row has all that is known of one, its step's op included. Names and
// defaults are PyTorch's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder/formula_schema.h"
#include "onward/tensor.h"
#include "onward/type.h"

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

// A state that an optimizer keeps per parameter from step to step, with its value before the first;
// an empty name is a state that the options leave out.
struct OptimizerState {
  std::string name;
  Tensor initial;
};
// In the order of the op's inputs. `options` are complete; `parameter` has known dims.
using OptimizerStates = std::vector<OptimizerState> (*)(const OptimizerOptions& options,
                                                        const Type& parameter);

struct OptimizerEntry {
  std::string_view name;  // "AdamW"
  FormulaOp op;           // the step of one parameter, in the domain onward
  // Numbers that the op reads in a row, in this order; they may change from step to step.
  std::vector<OptimizerSetting> settings;
  std::vector<OptimizerSwitch> switches;
  OptimizerStates states;
  std::vector<OptimizerSetting> choices = {};  // what `states` depends on besides the settings
  std::vector<std::string_view> fixed_switches = {};  // attributes of the op that are always 1
  bool matrices_alone = false;

  std::string op_type() const {
    return std::string(op.signature.substr(0, op.signature.find(' ')));
  }
};

// Every optimizer, in alphabetical order. Some share an op.
const std::vector<OptimizerEntry>& Optimizers();
const OptimizerEntry* FindOptimizer(std::string_view name);  // null: none

}  // namespace onward
