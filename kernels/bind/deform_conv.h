// The geometry of DeformConv, over two spatial axes, and what it reads of an image.
#pragma once

#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/bind/conv.h"
#include "kernels/functor.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct DeformConvAttributes {
  ConvAttributes conv;
  int64_t offset_group = 1;

  // InvalidArgument for an offset_group below 1, and as ConvAttributes::Parse.
  static absl::StatusOr<DeformConvAttributes> Parse(const NodeSpec& spec);
};

struct DeformConvPlan {
  WindowAxis axes[2];
  int64_t batch = 0, channels = 0, filters = 0, group = 1, offset_group = 1;
  int64_t kernel_size = 0, positions = 0;  // taps of a filter's channel, outputs of a filter
};

// Keeps DeformConvPlan as the state and settles output 0. Inputs X, W, offset, B, mask.
absl::Status BindDeformConv(BindContext& context, const DeformConvAttributes& attributes);

// The image at a place between four elements, which `at(row, column)` reads; 0 outside of it.
template <typename A, typename At>
ONWARD_HOST_DEVICE A SampleImage(int64_t height, int64_t width, A row, A column, const At& at) {
  // Also rejects NaN.
  if (!(row > -1 && row < static_cast<A>(height) && column > -1 && column < static_cast<A>(width)))
    return A(0);
  const auto top = static_cast<int64_t>(std::floor(row));
  const auto left = static_cast<int64_t>(std::floor(column));
  const A down = row - static_cast<A>(top), right = column - static_cast<A>(left);
  const auto inside = [&](int64_t i, int64_t j) {
    return i >= 0 && i < height && j >= 0 && j < width ? at(i, j) : A(0);
  };
  return (1 - down) * ((1 - right) * inside(top, left) + right * inside(top, left + 1)) +
         down * ((1 - right) * inside(top + 1, left) + right * inside(top + 1, left + 1));
}

}  // namespace onward::kernels
