// Ops that move elements: reshapes, permutations, parts, repetitions.
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

Gradients First(const GradientScope& s, const Expr& gradient) {
  std::vector<Expr> gradients = NoGradients(s);
  gradients[0] = gradient;
  return gradients;
}

Gradients IdentityRule(const GradientScope& s) { return {{s.upstream(0)}}; }
// A condition on X has no gradient.
Gradients RequireRule(const GradientScope& s) { return First(s, s.upstream(0)); }
Gradients ReshapeRule(const GradientScope& s) {
  return First(s, Reshape(s.upstream(0), Shape(s.input(0)), true));
}
Gradients ExpandRule(const GradientScope& s) { return First(s, s.upstream(0)); }

Gradients TransposeRule(const GradientScope& s) {
  const std::vector<int64_t> perm = s.attributes().Ints("perm");
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return {{Transpose(s.upstream(0), inverse)}};
}

// [repeats, size] for each axis, summed over the repeats.
Gradients TileRule(const GradientScope& s) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(s.input(0)));
  std::vector<int64_t> repeats;
  for (int64_t axis = 0; axis < rank; ++axis) repeats.push_back(2 * axis);
  if (rank == 0) return First(s, s.upstream(0));
  const Expr sizes =
      expr::Concat({Unsqueeze(s.input(1), {1}), Unsqueeze(Shape(s.input(0)), {1})}, 1);
  const Expr split = Reshape(s.upstream(0), Reshape(sizes, {-1}), true);
  return First(s, ReduceSum(split, repeats, false));
}

Gradients ConcatRule(const GradientScope& s) {
  const int64_t axis = s.attributes().Int("axis", 0);
  if (s.num_inputs() == 1) return {{s.upstream(0)}};
  std::vector<Expr> sizes;
  for (int i = 0; i < s.num_inputs(); ++i) sizes.push_back(DimOf(s.input(i), axis));
  return Ops("Split", {s.upstream(0), expr::Concat(sizes, 0)}, s.num_inputs(), {{"axis", axis}});
}

// Parts that nothing depends on are zeros.
Gradients SplitRule(const GradientScope& s) {
  const int parts = static_cast<int>(s.node().outputs.size());
  std::vector<Expr> given, split;
  for (int i = 0; i < parts; ++i) {
    Expr dy = s.upstream(i);
    if (!dy.valid()) {
      if (!s.output(i).valid() && split.empty())
        split = Ops("Split", {s.input(0), s.input(1)}, parts, s.attributes());
      dy = ZerosLike(s.output(i).valid() ? s.output(i) : split[static_cast<size_t>(i)]);
    }
    given.push_back(dy);
  }
  return First(s, expr::Concat(given, s.attributes().Int("axis", 0)));
}

// Elements that the op picked get what flowed into them.
Gradients PickRule(const GradientScope& s) {
  std::vector<Expr> inputs = {FlatPositions(s.input(0))};
  for (int i = 1; i < s.num_inputs(); ++i) inputs.push_back(s.input(i));
  const Expr positions = Op(s.node().op_type, inputs, s.attributes());
  return First(s, ScatterFlat(s.input(0), positions, s.upstream(0)));
}

bool AllOnes(const GradientScope& s, int input) {
  if (!s.has_input(input)) return true;
  const auto values = ConstantInts(s, input);
  return values && std::all_of(values->begin(), values->end(), [](int64_t v) { return v == 1; });
}

// Zeros before and after what a slice with steps of one took.
Gradients SliceRule(const GradientScope& s) {
  if (!AllOnes(s, 4)) return PickRule(s);
  const Expr x = s.input(0), dy = s.upstream(0);
  const auto ints = [](const Expr& v) {
    return v.dtype() == DType::kInt64 ? v : Cast(v, DType::kInt64);
  };
  Expr axes = s.has_input(3) ? ints(s.input(3)) : Iota(Shape(s.input(1)));
  const Expr rank = Shape(Shape(x)), zero = ScalarLike(rank, 0);
  if (s.has_input(3)) axes = Where(Less(axes, zero), axes + rank, axes);
  const Expr sizes = Gather(Shape(x), axes), taken = Gather(Shape(dy), axes);
  const Expr given = ints(s.input(1));
  const Expr start = Where(Less(given, zero), given + sizes, given);
  const Expr before = Max(Min(start, sizes), zero);
  // A slice that takes nothing may start anywhere.
  const Expr first = Min(before, sizes - taken);
  const Expr pads = expr::Concat({first, sizes - taken - first}, 0);
  return First(s, Op("Pad", {dy, pads, Expr(), axes}));
}

// A negative pad crops what a positive one added and adds what a negative one cropped.
Gradients PadRule(const GradientScope& s) {
  if (s.attributes().String("mode", "constant") != "constant") return PickRule(s);
  const Expr dy = s.upstream(0);
  const Expr dx = Op("Pad", {dy, -s.input(1), Expr(), s.input(3)});
  std::vector<Expr> gradients = NoGradients(s);
  gradients[0] = dx;
  if (s.has_input(2) && s.wants(2)) {
    const Expr rest = ReduceSum(dy, {}, false) - ReduceSum(dx, {}, false);
    gradients[2] = Reshape(rest, Shape(s.input(2)), true);
  }
  return gradients;
}

// The other one of the pair undoes each; SpaceToDepth of old opsets has one order of depth alone.
Gradients DepthToSpaceRule(const GradientScope& s) {
  const int64_t block = s.attributes().Int("blocksize", 1);
  const Expr dy = s.upstream(0), x = s.input(0);
  if (s.attributes().String("mode", "DCR") == "DCR")
    return {{Op("SpaceToDepth", {dy}, {{"blocksize", block}})}};
  const Expr sizes = IntsLike(dy, {block}), height = DimOf(x, 2), width = DimOf(x, 3);
  const Expr split = expr::Concat({Shape(dy, 0, 2), height, sizes, width, sizes}, 0);
  return {{Reshape(Transpose(Reshape(dy, split, true), {0, 1, 3, 5, 2, 4}), Shape(x), true)}};
}
Gradients SpaceToDepthRule(const GradientScope& s) {
  return {{Op("DepthToSpace", {s.upstream(0)}, s.attributes())}};
}

// These are their own inverses or masks.
Gradients SameOpRule(const GradientScope& s) {
  return First(s, Op(s.node().op_type, {s.upstream(0), s.input(1)}, s.attributes()));
}

// A crop starts where a pad back to the old size puts it.
Gradients CenterCropPadRule(const GradientScope& s) {
  const std::vector<int64_t> axes = s.attributes().Ints("axes");
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(s.input(0)));
  std::vector<Expr> sizes;
  for (const int64_t axis : axes.empty() ? AxesUpTo(rank) : axes)
    sizes.push_back(DimOf(s.input(0), axis));
  return First(s, Op("CenterCropPad", {s.upstream(0), expr::Concat(sizes, 0)}, s.attributes()));
}

constexpr training::GradientEntry kRules[] = {
    {"CenterCropPad", CenterCropPadRule},
    {"Compress", PickRule},
    {"Concat", ConcatRule},
    {"DepthToSpace", DepthToSpaceRule},
    {"Expand", ExpandRule},
    {"Flatten", ReshapeRule},
    {"Identity", IdentityRule},
    {"Pad", PadRule},
    {"RequireRange", RequireRule, "onward"},
    {"RequireShape", RequireRule, "onward"},
    {"Reshape", ReshapeRule},
    {"ReverseSequence", SameOpRule},
    {"Slice", SliceRule},
    {"SpaceToDepth", SpaceToDepthRule},
    {"Split", SplitRule},
    {"Squeeze", ReshapeRule},
    {"Tile", TileRule},
    {"Transpose", TransposeRule},
    {"Trilu", SameOpRule},
    {"Unsqueeze", ReshapeRule},
};

}  // namespace

GradientList LayoutGradients() { return kRules; }

}  // namespace onward::gradient
