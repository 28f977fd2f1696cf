#include "training/gradient/rules.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "training/gradient/families.h"

namespace onward::training {

const std::vector<GradientEntry>& GradientRules() {
  static const std::vector<GradientEntry> rules = [] {
    using Family = gradient::GradientList (*)();
    constexpr Family kFamilies[] = {
        gradient::ActivationGradients,    gradient::AllReduceGradients,
        gradient::AttentionGradients,     gradient::BatchNormalizationGradients,
        gradient::BinaryGradients,        gradient::Col2ImGradients,
        gradient::ConstantGradients,      gradient::ControlFlowGradients,
        gradient::ConvGradients,          gradient::CumulativeGradients,
        gradient::DeformConvGradients,    gradient::DetGradients,
        gradient::DropoutGradients,       gradient::EinsumGradients,
        gradient::GatherScatterGradients, gradient::GridSampleGradients,
        gradient::LayoutGradients,        gradient::LossGradients,
        gradient::MatMulGradients,        gradient::NormalizationGradients,
        gradient::PoolGradients,          gradient::QuantizeGradients,
        gradient::RecurrentGradients,     gradient::ReduceGradients,
        gradient::ResizeGradients,        gradient::RoiGradients,
        gradient::SequenceGradients,      gradient::SignalGradients,
        gradient::SoftmaxGradients,       gradient::StopGradientGradients,
        gradient::UnaryGradients,
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

namespace {

struct RuleIndex {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, GradientRule> rules;  // by domain and op

  static RuleIndex& Get() {
    static auto* index = [] {
      auto* made = new RuleIndex();
      for (const GradientEntry& entry : GradientRules())
        made->rules[{std::string(entry.domain), std::string(entry.op)}] = entry.rule;
      return made;
    }();
    return *index;
  }
};

}  // namespace

std::optional<GradientRule> FindGradient(std::string_view domain, std::string_view op) {
  RuleIndex& index = RuleIndex::Get();
  std::lock_guard lock(index.mutex);
  const auto it = index.rules.find({std::string(domain), std::string(op)});
  return it == index.rules.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace onward::training

namespace onward {

void RegisterGradient(std::string_view domain, std::string_view op, GradientRule rule) {
  training::RuleIndex& index = training::RuleIndex::Get();
  std::lock_guard lock(index.mutex);
  index.rules[{std::string(domain), std::string(op)}] = rule;
}

}  // namespace onward
