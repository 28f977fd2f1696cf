// onward.StopGradient.
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

constexpr training::GradientEntry kRules[] = {{"StopGradient", nullptr, "onward"}};

}  // namespace

GradientList StopGradientGradients() { return kRules; }

}  // namespace onward::gradient
