// ConvTranspose over three axes against sums in double.
#include <gtest/gtest.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "tests/support/fast_kernels.h"

namespace onward::kernels {
namespace {

using cases::OpCase;
using testing::RandomFloats;

using Triple = std::array<int64_t, 3>;

struct VolumeShape {
  int64_t batch, group, channels, filters;  // of a group: of X and of Y
  Triple x, kernel, stride, dilation, pad, extra;

  int64_t y(size_t axis) const {
    return (x[axis] - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1 + extra[axis] -
           2 * pad[axis];
  }
};

int64_t Draw(std::mt19937& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}

VolumeShape DrawVolume(std::mt19937& random) {
  VolumeShape s = {};
  s.batch = Draw(random, 1, 2), s.group = Draw(random, 1, 2);
  s.channels = Draw(random, 1, 9), s.filters = Draw(random, 1, 9);
  for (size_t axis = 0; axis < 3; ++axis) {
    s.x[axis] = Draw(random, 1, 7);
    s.kernel[axis] = Draw(random, 1, 3);
    s.stride[axis] = Draw(random, 1, 3);
    s.dilation[axis] = Draw(random, 1, 2);
    s.extra[axis] = Draw(random, 0, std::max(s.stride[axis], s.dilation[axis]) - 1);
    const int64_t reach = (s.kernel[axis] - 1) * s.dilation[axis];
    s.pad[axis] = Draw(random, 0, std::min<int64_t>(reach, 2));
    if (s.y(axis) <= 0) s.pad[axis] = 0;
  }
  return s;
}

// Coordinates of element `index` of a box.
Triple At(int64_t index, const Triple& dims) {
  return {index / (dims[1] * dims[2]), index / dims[2] % dims[1], index % dims[2]};
}

Tensor Spread(const VolumeShape& s, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const Triple y_dims = {s.y(0), s.y(1), s.y(2)};
  const int64_t positions = s.x[0] * s.x[1] * s.x[2], size = y_dims[0] * y_dims[1] * y_dims[2],
                taps = s.kernel[0] * s.kernel[1] * s.kernel[2], filters = s.group * s.filters;
  std::vector<double> sums(static_cast<size_t>(s.batch * filters * size));
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = static_cast<double>(bias.data<float>()[static_cast<int64_t>(i) / size % filters]);
  for (int64_t at = 0; at < x.num_elements(); ++at) {
    const int64_t channel = at / positions % (s.group * s.channels),
                  image = at / positions / (s.group * s.channels);
    const Triple from = At(at % positions, s.x);
    for (int64_t i = 0; i < s.filters * taps; ++i) {
      const int64_t filter = channel / s.channels * s.filters + i / taps;
      const Triple tap = At(i % taps, s.kernel);
      int64_t where = 0;
      bool inside = true;
      for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t to = from[axis] * s.stride[axis] - s.pad[axis] + tap[axis] * s.dilation[axis];
        inside = inside && to >= 0 && to < y_dims[axis];
        where = where * y_dims[axis] + to;
      }
      if (!inside) continue;
      sums[static_cast<size_t>((image * filters + filter) * size + where)] +=
          static_cast<double>(x.data<float>()[at]) *
          static_cast<double>(w.data<float>()[channel * s.filters * taps + i]);
    }
  }
  Tensor y(DType::kFloat32, {s.batch, filters, y_dims[0], y_dims[1], y_dims[2]});
  std::copy(sums.begin(), sums.end(), y.mutable_data<float>());
  return y;
}

void ExpectSpread(const VolumeShape& s, std::mt19937& random) {
  const auto list = [](const Triple& t) { return std::vector<int64_t>(t.begin(), t.end()); };
  std::vector<int64_t> pads = list(s.pad);
  pads.insert(pads.end(), s.pad.begin(), s.pad.end());
  OpCase c;
  c.op = "ConvTranspose";
  c.attributes = {{"strides", list(s.stride)},
                  {"dilations", list(s.dilation)},
                  {"pads", pads},
                  {"output_padding", list(s.extra)},
                  {"group", s.group}};
  c.inputs = {RandomFloats({s.batch, s.group * s.channels, s.x[0], s.x[1], s.x[2]}, random),
              RandomFloats({s.group * s.channels, s.filters, s.kernel[0], s.kernel[1], s.kernel[2]},
                           random),
              RandomFloats({s.group * s.filters}, random)};
  c.expected = {Spread(s, c.inputs[0], c.inputs[1], c.inputs[2])};
  c.rtol = c.atol = 1e-4;
  EXPECT_GT(testing::ExpectFastKernels(c, 2), 0);
}

TEST(ConvTransposeVolumes, AddWhatWindowsReach) {
  std::mt19937 random(23);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(absl::StrCat("seed 23, case ", i));
    ExpectSpread(DrawVolume(random), random);
  }
}

TEST(ConvTransposeVolumes, LargeOnesGoSliceBySlice) {
  std::mt19937 random(24);
  ExpectSpread({1, 1, 3, 40, {4, 40, 36}, {3, 3, 3}, {1, 2, 1}, {1, 1, 1}, {1, 1, 0}, {0, 0, 0}},
               random);
}

}  // namespace
}  // namespace onward::kernels
