#include "onnx_io/upgrade/rules.h"

#include <algorithm>
#include <tuple>

#include "onnx_io/upgrade/families.h"

namespace onward::onnx_io {

namespace {

auto Key(const UpgradeRule& rule) { return std::make_tuple(rule.domain, rule.op); }

UpgradeRules Sorted() {
  UpgradeRules all;
  for (const auto& family :
       {ElementwiseUpgrades(), SoftmaxUpgrades(), ReduceUpgrades(), LayoutUpgrades(), PadUpgrades(),
        GatherScatterUpgrades(), NormalizationUpgrades(), DropoutUpgrades(), PoolUpgrades(),
        ResizeUpgrades(), RecurrentUpgrades(), ControlFlowUpgrades(), SignalUpgrades(),
        LeftoverUpgrades(), MlUpgrades()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  std::sort(all.begin(), all.end(), [](const UpgradeRule& a, const UpgradeRule& b) {
    return std::tuple_cat(Key(a), std::make_tuple(a.until)) <
           std::tuple_cat(Key(b), std::make_tuple(b.until));
  });
  return all;
}

}  // namespace

const UpgradeRules& AllUpgradeRules() {
  static const UpgradeRules rules = Sorted();
  return rules;
}

absl::Span<const UpgradeRule> UpgradeRulesOf(std::string_view domain, std::string_view op) {
  const UpgradeRules& all = AllUpgradeRules();
  const auto key = std::make_tuple(domain, op);
  const auto begin =
      std::lower_bound(all.begin(), all.end(), key,
                       [](const UpgradeRule& rule, const auto& k) { return Key(rule) < k; });
  const auto end = std::upper_bound(
      begin, all.end(), key, [](const auto& k, const UpgradeRule& rule) { return k < Key(rule); });
  return absl::MakeConstSpan(all).subspan(static_cast<size_t>(begin - all.begin()),
                                          static_cast<size_t>(end - begin));
}

}  // namespace onward::onnx_io
