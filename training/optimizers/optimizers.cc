// The table of optimizers.
#include <limits>

#include "training/optimizers/optimizer.h"

namespace onward {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBelowOne = 1 - std::numeric_limits<double>::epsilon() / 2;

OptimizerSetting Number(std::string_view name, double value) { return {name, value, 0, kInfinity}; }
OptimizerSetting Decay(std::string_view name, double value) { return {name, value, 0, kBelowOne}; }
OptimizerSetting Switch(std::string_view name, bool value = false) {
  return {name, value ? 1.0 : 0.0, 0, 1};
}

std::vector<OptimizerSetting> AdamSettings(double lr, double eps, double weight_decay) {
  return {Number("lr", lr), Decay("beta1", 0.9), Decay("beta2", 0.999), Number("eps", eps),
          Number("weight_decay", weight_decay)};
}

}  // namespace

const std::vector<OptimizerEntry>& Optimizers() {
  static const auto* entries = new std::vector<OptimizerEntry>{
      {"Adadelta",
       "AdadeltaStep",
       {Number("lr", 1), {"rho", 0.9, 0, 1}, Number("eps", 1e-6), Number("weight_decay", 0)},
       {Switch("maximize")}},
      {"Adafactor",
       "AdafactorStep",
       {Number("lr", 1e-2),
        {"beta2_decay", -0.8, -kInfinity, 0},
        {"eps1", std::numeric_limits<float>::epsilon(), 0, kInfinity},
        Number("eps2", 1e-3),
        {"d", 1, 1, kInfinity},
        Number("weight_decay", 0)},
       {Switch("maximize")}},
      {"Adagrad",
       "AdagradStep",
       {Number("lr", 1e-2), Number("lr_decay", 0), Number("eps", 1e-10), Number("weight_decay", 0)},
       {Switch("maximize"), Number("initial_accumulator_value", 0)}},
      {"Adam",
       "AdamStep",
       AdamSettings(1e-3, 1e-8, 0),
       {Switch("maximize"), Switch("amsgrad"), Switch("decoupled")}},
      {"AdamW",
       "AdamStep",
       AdamSettings(1e-3, 1e-8, 1e-2),
       {Switch("maximize"), Switch("amsgrad"), Switch("decoupled", true)}},
      {"LAMB", "LambStep", AdamSettings(1e-3, 1e-6, 0), {Switch("maximize")}},
      {"Lion",
       "LionStep",
       {Number("lr", 1e-4), Decay("beta1", 0.9), Decay("beta2", 0.99), Number("weight_decay", 0)},
       {Switch("maximize")}},
      {"Muon",
       "MuonStep",
       {Number("lr", 1e-3), Decay("momentum", 0.95), Number("eps", 1e-7),
        Number("weight_decay", 0.1)},
       {Switch("maximize"), Switch("nesterov", true)}},
      {"NAdam",
       "NAdamStep",
       {Number("lr", 2e-3), Decay("beta1", 0.9), Decay("beta2", 0.999), Number("eps", 1e-8),
        Number("weight_decay", 0), Number("momentum_decay", 4e-3)},
       {Switch("maximize"), Switch("decoupled")}},
      {"RAdam",
       "RAdamStep",
       AdamSettings(1e-3, 1e-8, 0),
       {Switch("maximize"), Switch("decoupled")}},
      {"RMSprop",
       "RMSpropStep",
       {Number("lr", 1e-2), Decay("alpha", 0.99), Number("eps", 1e-8), Number("weight_decay", 0),
        Number("momentum", 0)},
       {Switch("maximize"), Switch("centered")}},
      {"SGD",
       "SgdStep",
       {Number("lr", 1e-3), Number("momentum", 0), Number("dampening", 0),
        Number("weight_decay", 0)},
       {Switch("maximize"), Switch("nesterov")}},
  };
  return *entries;
}

}  // namespace onward
