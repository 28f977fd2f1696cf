// The bands of rows into which depthwise kernels cut an image.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/fast_float.h"

namespace onward::kernels::cpu {

inline constexpr int64_t kBandFloats = 24 * 1024;        // of scratch: small against the L2 cache
inline constexpr int64_t kMinChunkProducts = 60 * 1000;  // about 5 us

struct RowBands {
  int64_t count = 0;
  int64_t rows = 0;           // of each; the last may have fewer
  int64_t worker_floats = 0;  // of scratch, whole vectors
};

// Cuts `rows` > 0 rows. `scratch`: the floats that a band of so many rows needs; `most` of them
// where one row needs fewer.
template <typename Scratch>
RowBands CutBands(int64_t rows, int64_t lanes, Scratch&& scratch, int64_t most = kBandFloats) {
  const int64_t one = scratch(1), row = scratch(2) - one;
  RowBands bands;
  bands.rows = EvenPiece(rows, 1 + std::max<int64_t>(0, most - one) / row);
  bands.count = CeilDiv(rows, bands.rows);
  bands.worker_floats = CeilDiv(scratch(bands.rows), lanes) * lanes;
  return bands;
}

}  // namespace onward::kernels::cpu
