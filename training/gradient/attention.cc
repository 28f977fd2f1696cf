// Attention: one op of the domain `onward` where it may be used, else through products and a
// softmax. The node itself stays as it is.
#include "graph/gradients/attention.h"

#include <algorithm>

#include "graph/ops/onward_schemas.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

Gradients Composed(const GradientScope& s) {
  const Expr past = s.has_input(4) ? DimOf(s.input(4), 2) : s.sink().Ints({0});
  return GradientsOf(s, [&](const std::vector<Expr>& inputs) -> std::vector<Expr> {
    const auto input = [&](size_t i) { return i < inputs.size() ? inputs[i] : Expr(); };
    const gradients::AttentionParts parts =
        gradients::WriteAttention({s.attributes(), inputs[0], inputs[1], inputs[2], input(3),
                                   input(4), input(5), input(6), past});
    const Expr shown[] = {parts.raw, parts.capped, parts.biased, parts.rows};
    const int64_t mode = s.attributes().Int("qk_matmul_output_mode", 0);
    return {parts.y, parts.k, parts.v, shown[std::clamp<int64_t>(mode, 0, 3)]};
  });
}

// Returns whether onward.AttentionGradient says all that is wanted: the gradients of queries, keys
// and values by the first output, without a past.
bool IsPlain(const GradientScope& s) {
  for (int output = 1; output < 4; ++output)
    if (s.upstream(output).valid()) return false;
  return !s.has_input(4) && !s.has_input(5) && !s.wants(3) &&
         s.input(1).dtype() == s.input(0).dtype() && s.input(2).dtype() == s.input(0).dtype();
}

Gradients AttentionRule(const GradientScope& s) {
  if (!s.allow_onward_ops() || !IsPlain(s)) return Composed(s);
  Attributes attributes;
  for (const char* name : {"is_causal", "kv_num_heads", "left_window_size", "q_num_heads",
                           "right_window_size", "scale", "softcap", "softmax_precision"}) {
    if (const Attribute* value = s.attributes().Find(name)) attributes.Set(name, *value);
  }
  std::vector<Expr> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(s.input(i));
  inputs.push_back(Like(s.upstream(0), s.input(0)));
  inputs.push_back(s.input(3));
  inputs.push_back(s.input(6));
  const std::vector<Expr> all =
      s.sink().OpsWanted("AttentionGradient", inputs, {s.wants(0), s.wants(1), s.wants(2)},
                         std::move(attributes), kOnwardDomain);
  std::vector<Expr> gradients = NoGradients(s);
  for (size_t i = 0; i < all.size(); ++i) gradients[i] = all[i];
  return gradients;
}

constexpr training::GradientEntry kRules[] = {{"Attention", AttentionRule}};

}  // namespace

GradientList AttentionGradients() { return kRules; }

}  // namespace onward::gradient
