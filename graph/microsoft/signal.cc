// Fourier transforms of real signals.
#include "graph/microsoft/microsoft.h"

namespace onward::microsoft {
namespace {

Expr Transform(const Expr& x, int64_t axis, bool inverse, bool onesided) {
  return Op("DFT", {x, {}, x.sink()->Scalar(static_cast<double>(axis), DType::kInt64)},
            {{"inverse", int64_t{inverse}}, {"onesided", int64_t{onesided}}});
}

bool Checked(const FormulaCall& call) {
  const int64_t rank = call.Int("signal_ndim");
  if (call.Int("onesided") != 1) call.Fail("`onesided` must be 1");
  if (call.Int("normalized") != 0) call.Fail("`normalized` must be 0");
  if (rank < 1 || rank > 3) call.Fail("`signal_ndim` must be 1, 2 or 3");
  return call.sink().status().ok();
}

// One-sided along the last axis of the signal, whole along those before it.
std::vector<Expr> Rfft(const FormulaCall& call) {
  if (!Checked(call)) return {};
  Expr y = Transform(Unsqueeze(call.input(0), {-1}), -2, false, true);
  for (int64_t i = 1; i < call.Int("signal_ndim"); ++i) y = Transform(y, -2 - i, false, false);
  return {y};
}

// The missing half is the conjugate of the given one, reversed. Of 2 (m - 1) points.
std::vector<Expr> Irfft(const FormulaCall& call) {
  if (!Checked(call)) return {};
  Expr x = call.input(0);
  for (int64_t i = 1; i < call.Int("signal_ndim"); ++i) x = Transform(x, -2 - i, true, false);
  const Expr reversed = Slice(x, {-2}, {0}, {-2}, {-1});
  const std::vector<Expr> parts = Split(reversed, {1, 1}, -1);
  const Expr whole = Concat({x, Concat({parts[0], -parts[1]}, -1)}, -2);
  return {Squeeze(Slice(Transform(whole, -2, true, false), {0}, {1}, {-1}), {-1})};
}

}  // namespace

std::vector<FormulaOp> SignalOps() {
  return {
      {"Rfft <normalized: int = 0, onesided: int = 1, signal_ndim: int = 1> (X: T) -> (Y: T)"
       " where T = float|double|float16",
       Rfft},
      {"Irfft <normalized: int = 0, onesided: int = 1, signal_ndim: int> (X: T) -> (Y: T)"
       " where T = float|double|float16",
       Irfft},
  };
}

}  // namespace onward::microsoft
