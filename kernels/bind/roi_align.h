// RoiAlign and MaxRoiPool, as all providers bind them, and where they read the map.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/functor.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct RoiAlignOptions {
  bool half_pixel = true;
  bool is_max = false;
  int64_t out_height = 1, out_width = 1;
  int64_t sampling_ratio = 0;
  double scale = 1;
};

// InvalidArgument for an output of no element or a negative sampling_ratio.
absl::StatusOr<RoiAlignOptions> ReadRoiAlignOptions(const NodeSpec& spec);

// Settles output 0. Inputs X, rois, batch_indices.
absl::Status BindRoiAlign(BindContext& context, const RoiAlignOptions& options);

// One axis of a region: where it starts, the size of a bin, samples per bin.
struct RoiExtent {
  double start = 0, bin = 0;
  int64_t samples = 0;
};

inline constexpr int64_t kMostRoiSamples = 1 << 12;  // of a bin's axis; more has no sense

ONWARD_HOST_DEVICE inline RoiExtent RoiExtentOf(const RoiAlignOptions& options, double from,
                                                double to, int64_t bins) {
  const double offset = options.half_pixel ? 0.5 : 0.0;
  RoiExtent extent;
  extent.start = from * options.scale - offset;
  double size = to * options.scale - offset - extent.start;
  if (!options.half_pixel) size = std::max(size, 1.0);
  extent.bin = size / static_cast<double>(bins);
  const double adaptive = std::ceil(extent.bin);
  extent.samples = options.sampling_ratio > 0 ? options.sampling_ratio
                   : adaptive > 0             ? static_cast<int64_t>(std::min(adaptive, 1e9))
                                              : 0;
  return extent;
}

// A coordinate of a sample between two neighbours of the map.
struct RoiSample {
  int64_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;  // both 0: outside the map
};

// Sample `i` of a bin along an axis of `size` elements of the map.
ONWARD_HOST_DEVICE inline RoiSample RoiSampleOf(const RoiExtent& extent, int64_t bin, int64_t i,
                                                int64_t size) {
  RoiSample sample;
  double at = extent.start + static_cast<double>(bin) * extent.bin +
              (static_cast<double>(i) + 0.5) * extent.bin / static_cast<double>(extent.samples);
  if (!(at >= -1.0 && at <= static_cast<double>(size))) return sample;
  at = std::max(at, 0.0);
  sample.low = std::min(static_cast<int64_t>(at), size - 1);
  sample.high = std::min(sample.low + 1, size - 1);
  const double fraction = sample.low == size - 1 ? 0.0 : at - static_cast<double>(sample.low);
  sample.low_weight = 1 - fraction;
  sample.high_weight = fraction;
  return sample;
}

struct MaxRoiPoolOptions {
  int64_t height = 1, width = 1;  // bins
  float scale = 1;
};

// InvalidArgument for a pooled_shape that is not two numbers of at least 1.
absl::StatusOr<MaxRoiPoolOptions> ReadMaxRoiPoolOptions(const NodeSpec& spec);

// Settles output 0. Inputs X and rois, which are [image, x1, y1, x2, y2].
absl::Status BindMaxRoiPool(BindContext& context, const MaxRoiPoolOptions& options);

// The elements [begin, end) of an axis of the map.
struct RoiBin {
  int64_t begin = 0, end = 0;
};

// Bin `i` of `count` between two corners of the region, cut to the map's `size`.
ONWARD_HOST_DEVICE inline RoiBin RoiBinOf(float scale, float from, float to, int64_t i,
                                          int64_t count, int64_t size) {
  const auto edge = [&](float at) {
    return std::min(std::max(std::round(at * scale), -1e9f), 1e9f);
  };
  const float start = edge(from), extent = std::max(edge(to) - start + 1, 1.0f);
  const float bin = extent / static_cast<float>(count);
  const float begin = std::floor(static_cast<float>(i) * bin) + start;
  const float end = std::ceil(static_cast<float>(i + 1) * bin) + start;
  // A corner of NaN leaves its bins empty.
  const auto cut = [&](float at) { return at > 0 ? std::min(static_cast<int64_t>(at), size) : 0; };
  return {cut(begin), cut(end)};
}

}  // namespace onward::kernels
