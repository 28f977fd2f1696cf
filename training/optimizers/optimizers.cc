// The table of optimizers.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "training/optimizers/optimizer.h"

namespace onward {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBelowOne = 1 - std::numeric_limits<double>::epsilon() / 2;

OptimizerSetting Number(std::string_view name, double value) { return {name, value, 0, kInfinity}; }
OptimizerSetting Decay(std::string_view name, double value) { return {name, value, 0, kBelowOne}; }
// Whether the optimizer keeps another state.
OptimizerSetting Choice(std::string_view name) { return {name, 0, 0, 1}; }

constexpr OptimizerSwitch kMaximize = {"maximize", "maximize"};
constexpr OptimizerSwitch kDecoupled = {"decoupled_weight_decay", "decoupled"};

std::vector<OptimizerSetting> AdamSettings(double lr, double eps, double weight_decay) {
  return {Number("lr", lr), Decay("beta1", 0.9), Decay("beta2", 0.999), Number("eps", eps),
          Number("weight_decay", weight_decay)};
}

// A tensor of one value.
Tensor Filled(DType dtype, DimsView dims, double value) {
  Tensor tensor(dtype, dims);
  DispatchDType(FloatTypes(), dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, double>) {
      std::fill_n(tensor.mutable_data<T>(), tensor.num_elements(), value);
    } else {
      std::fill_n(tensor.mutable_data<T>(), tensor.num_elements(), T(static_cast<float>(value)));
    }
  });
  return tensor;
}

using States = std::vector<OptimizerState>;

OptimizerState Zeros(const char* name, const Type& parameter) {
  return {name, Filled(parameter.dtype, *parameter.static_dims(), 0)};
}
// Zeros where `option` is not 0.
OptimizerState ZerosFor(const char* option, const char* name, const OptimizerOptions& options,
                        const Type& parameter) {
  return options.at(option) != 0 ? Zeros(name, parameter) : OptimizerState();
}

States AdamStates(const OptimizerOptions& options, const Type& parameter) {
  return {Zeros("moment", parameter), Zeros("second_moment", parameter),
          ZerosFor("amsgrad", "largest", options, parameter)};
}
States MomentsStates(const OptimizerOptions&, const Type& parameter) {
  return {Zeros("moment", parameter), Zeros("second_moment", parameter)};
}
States NAdamStates(const OptimizerOptions& options, const Type& parameter) {
  States states = MomentsStates(options, parameter);
  states.push_back({"product", Filled(DType::kFloat64, Dims(), 1)});
  return states;
}
States AdadeltaStates(const OptimizerOptions&, const Type& parameter) {
  return {Zeros("squares", parameter), Zeros("changes", parameter)};
}
States AdafactorStates(const OptimizerOptions&, const Type& parameter) {
  const Dims dims = *parameter.static_dims();
  if (dims.size() < 2) return {Zeros("squares", parameter)};
  Dims rows = dims, columns = dims;
  rows.back() = 1;
  columns[dims.size() - 2] = 1;
  return {{"rows", Filled(parameter.dtype, rows, 0)},
          {"columns", Filled(parameter.dtype, columns, 0)}};
}
States AdagradStates(const OptimizerOptions& options, const Type& parameter) {
  return {{"sum", Filled(parameter.dtype, *parameter.static_dims(),
                         options.at("initial_accumulator_value"))}};
}
States LionStates(const OptimizerOptions&, const Type& parameter) {
  return {Zeros("moment", parameter)};
}
States MuonStates(const OptimizerOptions&, const Type& parameter) {
  return {Zeros("momentum", parameter)};
}
States RMSpropStates(const OptimizerOptions& options, const Type& parameter) {
  return {Zeros("squares", parameter), ZerosFor("momentum", "momentum", options, parameter),
          ZerosFor("centered", "mean", options, parameter)};
}
States SgdStates(const OptimizerOptions& options, const Type& parameter) {
  return {ZerosFor("momentum", "momentum", options, parameter)};
}

}  // namespace

const std::vector<OptimizerEntry>& Optimizers() {
  static const auto* entries = new std::vector<OptimizerEntry>{
      {"Adadelta",
       "AdadeltaStep",
       {Number("lr", 1), {"rho", 0.9, 0, 1}, Number("eps", 1e-6), Number("weight_decay", 0)},
       {kMaximize},
       {},
       {},
       AdadeltaStates},
      {"Adafactor",
       "AdafactorStep",
       {Number("lr", 1e-2),
        {"beta2_decay", -0.8, -kInfinity, 0},
        {"eps1", std::numeric_limits<float>::epsilon(), 0, kInfinity},
        Number("eps2", 1e-3),
        {"d", 1, 1, kInfinity},
        Number("weight_decay", 0)},
       {kMaximize},
       {},
       {},
       AdafactorStates},
      {"Adagrad",
       "AdagradStep",
       {Number("lr", 1e-2), Number("lr_decay", 0), Number("eps", 1e-10), Number("weight_decay", 0)},
       {kMaximize},
       {Number("initial_accumulator_value", 0)},
       {},
       AdagradStates},
      {"Adam",
       "AdamStep",
       AdamSettings(1e-3, 1e-8, 0),
       {kMaximize, kDecoupled},
       {Choice("amsgrad")},
       {},
       AdamStates},
      {"AdamW",
       "AdamStep",
       AdamSettings(1e-3, 1e-8, 1e-2),
       {kMaximize},
       {Choice("amsgrad")},
       {"decoupled"},
       AdamStates},
      {"LAMB", "LambStep", AdamSettings(1e-3, 1e-6, 0), {kMaximize}, {}, {}, MomentsStates},
      {"Lion",
       "LionStep",
       {Number("lr", 1e-4), Decay("beta1", 0.9), Decay("beta2", 0.99), Number("weight_decay", 0)},
       {kMaximize},
       {},
       {},
       LionStates},
      {"Muon",
       "MuonStep",
       {Number("lr", 1e-3), Decay("momentum", 0.95), Number("eps", 1e-7),
        Number("weight_decay", 0.1)},
       {kMaximize, {"nesterov", "nesterov", true}},
       {},
       {},
       MuonStates},
      {"NAdam",
       "NAdamStep",
       {Number("lr", 2e-3), Decay("beta1", 0.9), Decay("beta2", 0.999), Number("eps", 1e-8),
        Number("weight_decay", 0), Number("momentum_decay", 4e-3)},
       {kMaximize, kDecoupled},
       {},
       {},
       NAdamStates},
      {"RAdam",
       "RAdamStep",
       AdamSettings(1e-3, 1e-8, 0),
       {kMaximize, kDecoupled},
       {},
       {},
       MomentsStates},
      {"RMSprop",
       "RMSpropStep",
       {Number("lr", 1e-2), Decay("alpha", 0.99), Number("eps", 1e-8), Number("weight_decay", 0),
        Number("momentum", 0)},
       {kMaximize},
       {Choice("centered")},
       {},
       RMSpropStates},
      {"SGD",
       "SgdStep",
       {Number("lr", 1e-3), Number("momentum", 0), Number("dampening", 0),
        Number("weight_decay", 0)},
       {kMaximize, {"nesterov", "nesterov"}},
       {},
       {},
       SgdStates},
  };
  return *entries;
}

}  // namespace onward
