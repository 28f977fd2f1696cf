#include "graph/base/conv_taps.h"

namespace onward {
namespace {

bool MeetsInput(const ConvAxis& axis, int64_t tap) {
  const int64_t first = tap * axis.dilation - axis.pad_begin;
  if (first >= axis.input) return false;
  if (first >= 0) return axis.output > 0;
  const int64_t steps = (-first + axis.stride - 1) / axis.stride;
  return steps < axis.output && first + steps * axis.stride < axis.input;
}

}  // namespace

std::optional<TapRange> LiveTaps(const ConvAxis& axis) {
  TapRange taps{0, axis.kernel};
  while (taps.begin < taps.end && !MeetsInput(axis, taps.begin)) ++taps.begin;
  while (taps.end > taps.begin && !MeetsInput(axis, taps.end - 1)) --taps.end;
  const bool expressible = taps.begin < taps.end && taps.begin * axis.dilation <= axis.pad_begin &&
                           (axis.kernel - taps.end) * axis.dilation <= axis.pad_end;
  if (!expressible) return std::nullopt;
  return taps;
}

ConvAxis Narrowed(const ConvAxis& axis, TapRange taps) {
  ConvAxis narrow = axis;
  narrow.kernel = taps.end - taps.begin;
  narrow.pad_begin -= taps.begin * axis.dilation;
  narrow.pad_end -= (axis.kernel - taps.end) * axis.dilation;
  return narrow;
}

}  // namespace onward
