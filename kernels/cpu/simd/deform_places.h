// Places that DeformConv reads in float32 images: each output of a tap lies between four
// elements.
#pragma once

#include <cstdint>

#include "kernels/cpu/targets.h"

namespace onward::kernels::cpu {

// One tap of a filter for `count` outputs.
struct DeformTap {
  int32_t height = 0, width = 0;  // of an image
  // [count]: where the windows of the outputs begin.
  const float *rows = nullptr, *columns = nullptr;
  float row = 0, column = 0;                      // of the tap in a window
  const float *down = nullptr, *right = nullptr;  // [count]: learned offsets
  const float* mask = nullptr;                    // [count]: factors; null: 1
};

// Where outputs read, and the weights of what they read. A weight of 0 stands for an element that
// is not read, as those outside of the image are.
struct DeformPlaces {
  int32_t *upper = nullptr, *lower = nullptr;  // two neighbours in a row begin at image[i]
  float *upper_weights = nullptr, *lower_weights = nullptr;  // two an output

  // Those of output j on.
  DeformPlaces From(int64_t j) const {
    return {upper + j, lower + j, upper_weights + 2 * j, lower_weights + 2 * j};
  }
};

struct DeformLoops {
  // Finds `count` places; those behind them, up to `padded`, read nothing.
  void (*find)(const DeformTap& tap, int64_t count, int64_t padded, const DeformPlaces& places);
  // to[c * to_stride + j] = image c at place j, for `channels` images `size` apart. `padded` and
  // `count` are multiples of the target's lanes.
  void (*sample)(const DeformPlaces& places, int64_t count, const float* images, int64_t size,
                 int64_t channels, float* to, int64_t to_stride);
  // The same for images of one column, whose elements have no neighbours.
  void (*sample_column)(const DeformPlaces& places, int64_t count, const float* images,
                        int64_t size, int64_t channels, float* to, int64_t to_stride);
};

ONWARD_PER_TARGET(kVectorLoops, const DeformLoops&, Deform, ())

}  // namespace onward::kernels::cpu
