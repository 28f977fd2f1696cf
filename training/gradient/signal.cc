// Fourier transforms. The adjoint of a transform is the other direction's without its scale.
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

Expr Transform(const Expr& x, const Expr& axis, bool inverse, bool onesided) {
  return Op("DFT", {x, Expr(), axis},
            {{"inverse", int64_t{inverse}}, {"onesided", int64_t{onesided}}});
}

// x with zeros after it, or without elements at its end, along `axis`: int64[1] all.
Expr Fitted(const Expr& x, const Expr& size, const Expr& axis) {
  const Expr change = size - Gather(Shape(x), axis);
  const Expr pads = expr::Concat({IntsLike(x, {0}), change}, 0);
  return Op("Pad", {x, pads, Expr(), axis});
}

// Bins of the half spectrum that stand for two of the whole one count twice.
Expr Doubled(const Expr& half, const Expr& length, const Expr& axis) {
  const Expr bins = Gather(Shape(half), axis), number = Iota(bins);
  const Expr mirror = length - number;
  const Expr alone = Or(Equal(number, IntsLike(half, {0})), Equal(mirror, number));
  const Expr counts = Where(alone, ScalarLike(half, 1), ScalarLike(half, 2));
  const Expr ones = Expand(IntsLike(half, {1}), Shape(Shape(half)));
  const Expr shape = Op("ScatterElements", {ones, axis, bins}, {{"axis", int64_t{0}}});
  return half * Reshape(counts, shape);
}

Gradients DFTRule(const GradientScope& s) {
  const Expr x = s.input(0), dy = s.upstream(0);
  ONWARD_ASSIGN_OR_RETURN(const int64_t rank, RankOf(x, 2));
  const Dim parts = x.type().shape->back();
  if (!parts.known()) {
    return absl::UnimplementedError("whether the signal is real or complex is not known");
  }
  const bool inverse = s.attributes().Int("inverse", 0) != 0;
  const bool onesided = s.attributes().Int("onesided", 0) != 0;
  const Expr axis = s.has_input(2) ? s.input(2) : s.sink().Scalar(-2, DType::kInt64);
  const Expr given = Reshape(axis, {1}), zero = IntsLike(x, {0});
  const Expr at = Where(Less(given, zero), given + IntsLike(x, {rank}), given);
  const Expr size = Gather(Shape(x), at);
  Expr length = Gather(Shape(dy), at);
  if (onesided && !inverse) {
    length = s.has_input(1) ? Reshape(Cast(s.input(1), DType::kInt64), {1}) : size;
  }
  const Expr scale = Cast(length, x.dtype());
  Expr dx;
  if (!inverse) {
    dx = Transform(onesided ? Fitted(dy, length, at) : dy, axis, true, false) * scale;
  } else if (onesided) {
    dx = Doubled(Transform(dy, axis, false, true), length, at) / scale;
  } else {
    dx = Transform(dy, axis, false, false) / scale;
  }
  if (parts.value() == 1) dx = Slice(dx, {0}, {1}, {-1});
  std::vector<Expr> gradients = NoGradients(s);
  gradients[0] = Fitted(dx, size, at);
  return gradients;
}

// Frames of the signal, times the window, transformed.
Gradients STFTRule(const GradientScope& s) {
  if (!s.has_input(2) && !s.has_input(3))
    return absl::InvalidArgumentError("has neither a window nor a frame_length");
  const Expr frames = DimOf(s.output(0), 1), step = Cast(s.input(1), DType::kInt64);
  const Expr length =
      s.has_input(3) ? Reshape(Cast(s.input(3), DType::kInt64), {1}) : DimOf(s.input(2), 0);
  const Expr starts = Unsqueeze(Iota(frames) * step, {1});
  const Expr positions = starts + Iota(length);
  return GradientsOf(s, [&](const std::vector<Expr>& inputs) -> std::vector<Expr> {
    Expr cut = Gather(inputs[0], positions, 1);
    if (inputs.size() > 2 && inputs[2].valid()) cut = cut * Unsqueeze(inputs[2], {1});
    const Expr axis = s.sink().Scalar(2, DType::kInt64);
    return {Transform(cut, axis, false, s.attributes().Int("onesided", 1) != 0)};
  });
}

constexpr training::GradientEntry kRules[] = {{"DFT", DFTRule}, {"STFT", STFTRule}};

}  // namespace

GradientList SignalGradients() { return kRules; }

}  // namespace onward::gradient
