// The steps of optimizers (graph/optimizers), for kernels of all providers: the settings in the
// order in which the ops have them, so that kernels name what they read (a test holds the two
// together), and the rules of steps that are one pass.
#pragma once

#include <cstdint>
#include <string_view>

namespace onward::kernels {

struct AdadeltaSettings {
  enum : int { kLr, kRho, kEps, kWeightDecay, kCount };
  static constexpr std::string_view kNames[kCount] = {"lr", "rho", "eps", "weight_decay"};
};
struct AdafactorSettings {
  enum : int { kLr, kBeta2Decay, kEps1, kEps2, kD, kWeightDecay, kCount };
  static constexpr std::string_view kNames[kCount] = {"lr",   "beta2_decay", "eps1",
                                                      "eps2", "d",           "weight_decay"};
};
struct AdagradSettings {
  enum : int { kLr, kLrDecay, kEps, kWeightDecay, kCount };
  static constexpr std::string_view kNames[kCount] = {"lr", "lr_decay", "eps", "weight_decay"};
};
struct AdamSettings {
  enum : int { kLr, kBeta1, kBeta2, kEps, kWeightDecay, kCount };
  static constexpr std::string_view kNames[kCount] = {"lr", "beta1", "beta2", "eps",
                                                      "weight_decay"};
};
struct LionSettings {
  enum : int { kLr, kBeta1, kBeta2, kWeightDecay, kCount };
  static constexpr std::string_view kNames[kCount] = {"lr", "beta1", "beta2", "weight_decay"};
};
struct MuonSettings {
  enum : int { kLr, kMomentum, kEps, kWeightDecay, kCount };
  static constexpr std::string_view kNames[kCount] = {"lr", "momentum", "eps", "weight_decay"};
};
// The first ones are Adam's, whose moments it has.
struct NAdamSettings {
  enum : int { kLr, kBeta1, kBeta2, kEps, kWeightDecay, kMomentumDecay, kCount };
  static constexpr std::string_view kNames[kCount] = {"lr",  "beta1",        "beta2",
                                                      "eps", "weight_decay", "momentum_decay"};
};
struct RMSpropSettings {
  enum : int { kLr, kAlpha, kEps, kWeightDecay, kMomentum, kCount };
  static constexpr std::string_view kNames[kCount] = {"lr", "alpha", "eps", "weight_decay",
                                                      "momentum"};
};
struct SgdSettings {
  enum : int { kLr, kMomentum, kDampening, kWeightDecay, kCount };
  static constexpr std::string_view kNames[kCount] = {"lr", "momentum", "dampening",
                                                      "weight_decay"};
};

struct StepSettings {
  std::string_view op;
  const std::string_view* names;
  int count;
};
inline constexpr StepSettings kStepSettings[] = {
    {"AdadeltaStep", AdadeltaSettings::kNames, AdadeltaSettings::kCount},
    {"AdafactorStep", AdafactorSettings::kNames, AdafactorSettings::kCount},
    {"AdagradStep", AdagradSettings::kNames, AdagradSettings::kCount},
    {"AdamStep", AdamSettings::kNames, AdamSettings::kCount},
    {"LambStep", AdamSettings::kNames, AdamSettings::kCount},
    {"LionStep", LionSettings::kNames, LionSettings::kCount},
    {"MuonStep", MuonSettings::kNames, MuonSettings::kCount},
    {"NAdamStep", NAdamSettings::kNames, NAdamSettings::kCount},
    {"RAdamStep", AdamSettings::kNames, AdamSettings::kCount},
    {"RMSpropStep", RMSpropSettings::kNames, RMSpropSettings::kCount},
    {"SgdStep", SgdSettings::kNames, SgdSettings::kCount},
};

// Steps that are one pass over a parameter and its state: what an element becomes follows from the
// same element alone.
enum class StepRule : uint8_t {
  kSgd,
  kSgdMomentum,
  kSgdNesterov,
  kAdam,
  kAdamLargest,
  kAdamDecoupled,
  kAdamDecoupledLargest,
  kAdagrad,
  kLion,
  kRMSprop,
  kRMSpropMomentum,
  kRMSpropCenteredMomentum,
  kAdadelta,
  kRAdam,
  kRAdamDecoupled,
  kNAdam,
  kNAdamDecoupled,
  kCount,  // of the rules above
};

}  // namespace onward::kernels
