// Target shapes for Reshape that are constants where at most one dim is open.
#pragma once

#include <vector>

#include "onward/functions.h"

namespace onward::nn {

// The known rank of `x`, or -1, which its sink keeps as an error: `what` needs it.
int64_t KnownRank(const Expr& x, std::string_view what);

// Returns whether axis 1 of x, [batch, channels, ...], may be `channels`, and the rank `rank` (0:
// any from 2 on); else the sink keeps an error.
bool HasChannels(const Expr& x, int64_t channels, int64_t rank, std::string_view what);

// A piece of a shape: dim `axis` of `of`, or a number.
struct ShapePart {
  Expr of;
  int64_t axis = 0;
  int64_t number = 0;
  static ShapePart Axis(Expr of, int64_t axis) { return {std::move(of), axis, 0}; }
  static ShapePart Number(int64_t number) { return {{}, 0, number}; }
};

// x with the shape `parts`.
Expr ReshapeTo(const Expr& x, const std::vector<ShapePart>& parts);

}  // namespace onward::nn
