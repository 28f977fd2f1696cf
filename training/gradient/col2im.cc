// Col2Im adds up blocks; its gradient takes the blocks out again.
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"
#include "training/gradient/window.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

using Ints = std::vector<int64_t>;

Gradients Col2ImRule(const GradientScope& s) {
  const Expr dy = s.upstream(0), block = s.input(2);
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(s.output(0), 2));
  const auto spatial = static_cast<size_t>(rank - 2);
  const Ints pads = ListOr(s, "pads", Ints(2 * spatial, 0)),
             strides = ListOr(s, "strides", Ints(spatial, 1)),
             dilations = ListOr(s, "dilations", Ints(spatial, 1));
  if (pads.size() != 2 * spatial || strides.size() != spatial || dilations.size() != spatial)
    return absl::InvalidArgumentError(
        "pads, strides and dilations are not of the length that the output's rank asks for");
  Ints axes, order = {0, 1};
  for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(2 + i));
  Expr taken = Op("Pad", {dy, IntsLike(dy, pads), Expr(), IntsLike(dy, axes)});
  // Each axis becomes [block, blocks].
  for (size_t i = 0; i < spatial; ++i) {
    const auto axis = static_cast<int64_t>(i);
    const Expr at = IntsLike(dy, {axis}), one = IntsLike(dy, {1});
    const Expr size = Gather(block, at), padded = DimOf(taken, 2 + 2 * axis);
    const Expr reach = (size - one) * IntsLike(dy, {dilations[i]}) + one;
    const Expr blocks = (padded - reach) / IntsLike(dy, {strides[i]}) + one;
    const Expr within = Unsqueeze(Iota(size) * IntsLike(dy, {dilations[i]}), {1});
    taken = Gather(taken, within + Iota(blocks) * IntsLike(dy, {strides[i]}), 2 + 2 * axis);
  }
  for (int64_t part = 0; part < 2; ++part) {
    for (int64_t i = 0; i < rank - 2; ++i) order.push_back(2 + 2 * i + part);
  }
  std::vector<Expr> gradients = NoGradients(s);
  gradients[0] = Reshape(Transpose(taken, order), Shape(s.input(0)));
  return gradients;
}

constexpr training::GradientEntry kRules[] = {{"Col2Im", Col2ImRule}};

}  // namespace

GradientList Col2ImGradients() { return kRules; }

}  // namespace onward::gradient
