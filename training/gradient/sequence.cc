// Sequences and optionals. The gradient of a sequence is a sequence of equal length, that of an
// optional the gradient of its element.
#include "onward/functions.h"
#include "training/gradient/cotangent.h"
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;

Expr At(const Expr& sequence, const Expr& position) {
  return Op("SequenceAt", {sequence, position});
}

// A position counted from the end becomes one from the start of a sequence of `length`.
Expr FromStart(const Expr& position, const Expr& length) {
  const Expr wide = Cast(position, DType::kInt64);
  return Where(Less(wide, ScalarLike(wide, 0)), wide + length, wide);
}

Result SequenceConstructRule(const GradientScope& s) {
  std::vector<Expr> gradients(static_cast<size_t>(s.num_inputs()));
  for (int i = 0; i < s.num_inputs(); ++i) {
    if (s.wants(i))
      gradients[static_cast<size_t>(i)] = At(s.upstream(0), s.sink().Scalar(i, DType::kInt64));
  }
  return gradients;
}

// Zeros but for one element.
Result SequenceAtRule(const GradientScope& s) {
  const Expr sequence = s.input(0);
  const Expr position = FromStart(s.input(1), Op("SequenceLength", {sequence}));
  const Expr without = Op("SequenceErase", {ZeroCotangent(sequence), position});
  return {{Op("SequenceInsert", {without, s.upstream(0), position})}};
}

Result SequenceInsertRule(const GradientScope& s) {
  const Expr ds = s.upstream(0);
  const Expr length = Op("SequenceLength", {ds});
  const Expr position = s.has_input(2) ? FromStart(s.input(2), length - 1.0) : length - 1.0;
  return {{Op("SequenceErase", {ds, position}), At(ds, position)}};
}

Result SequenceEraseRule(const GradientScope& s) {
  const Expr sequence = s.input(0);
  const Expr length = Op("SequenceLength", {sequence});
  const Expr position = s.has_input(1) ? FromStart(s.input(1), length) : length - 1.0;
  return {{Op("SequenceInsert", {s.upstream(0), ZerosLike(At(sequence, position)), position})}};
}

Result SplitToSequenceRule(const GradientScope& s) {
  const int64_t axis = s.attributes().Int("axis", 0);
  const bool squeezed = !s.has_input(1) && s.attributes().Int("keepdims", 1) == 0;
  // A new axis is counted in the rank of the result, which is that of the input.
  return {{Op("ConcatFromSequence", {s.upstream(0)},
              {{"axis", axis}, {"new_axis", int64_t{squeezed}}})}};
}

// The sizes of the sequence's elements along an axis: int64[n].
Expr SizesAlong(const Expr& sequence, int64_t axis) {
  ExprSink& sink = *sequence.sink();
  return sink.Loop(Op("SequenceLength", {sequence}), {}, {},
                   [&](ExprSink& body, const Expr& i, const std::vector<Expr>&) {
                     const Expr shape = Shape(body.Op("SequenceAt", {sequence, i}));
                     const Expr size =
                         Gather(shape, body.Scalar(static_cast<double>(axis), DType::kInt64));
                     return BodyResult{{}, {}, {size}};
                   })[0];
}

Result ConcatFromSequenceRule(const GradientScope& s) {
  const Expr dy = s.upstream(0);
  const int64_t axis = s.attributes().Int("axis", 0);
  if (s.attributes().Int("new_axis", 0) != 0) {
    return {{Op("SplitToSequence", {dy}, {{"axis", axis}, {"keepdims", int64_t{0}}})}};
  }
  return {{Op("SplitToSequence", {dy, SizesAlong(s.input(0), axis)}, {{"axis", axis}})}};
}

Result PassRule(const GradientScope& s) { return {{s.upstream(0)}}; }

constexpr training::GradientEntry kRules[] = {
    {"ConcatFromSequence", ConcatFromSequenceRule},
    {"Optional", PassRule},
    {"OptionalGetElement", PassRule},
    {"OptionalHasElement", nullptr},
    {"SequenceAt", SequenceAtRule},
    {"SequenceConstruct", SequenceConstructRule},
    {"SequenceEmpty", nullptr},
    {"SequenceErase", SequenceEraseRule},
    {"SequenceInsert", SequenceInsertRule},
    {"SequenceLength", nullptr},
    {"SplitToSequence", SplitToSequenceRule},
};

}  // namespace

GradientList SequenceGradients() { return kRules; }

}  // namespace onward::gradient
