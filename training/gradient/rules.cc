#include "training/gradient/families.h"

namespace onward {

const std::vector<GradientEntry>& GradientRules() {
  static const std::vector<GradientEntry> rules = [] {
    using Family = gradient::GradientList (*)();
    constexpr Family kFamilies[] = {
        gradient::BinaryGradients,  gradient::ConvGradients,  gradient::IdentityGradients,
        gradient::MatMulGradients,  gradient::PoolGradients,  gradient::ReduceGradients,
        gradient::SoftmaxGradients, gradient::UnaryGradients,
    };
    std::vector<GradientEntry> all;
    for (Family family : kFamilies) {
      const gradient::GradientList list = family();
      all.insert(all.end(), list.begin(), list.end());
    }
    return all;
  }();
  return rules;
}

}  // namespace onward
