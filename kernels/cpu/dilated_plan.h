// The parts of a small image that wide dilations make: regions of outputs that meet the same taps,
// and for each tap the regions that it reaches.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/bind/conv.h"
#include "kernels/cpu/simd/conv_tile.h"

namespace onward::kernels::cpu {

struct DilatedPlan {
  // A rectangle of outputs. Regions lie one after another in a worker's sums.
  struct Region {
    int64_t row, column, rows, columns;
    int64_t first;  // output of the sums

    int64_t outputs() const { return rows * columns; }
  };
  // A region that a tap reaches.
  struct Reach {
    int64_t tap, region;
    int64_t filter_tap;  // of all taps, those that meet only padding included
    bool starts;         // no tap before it reaches the region
    int64_t patches;     // outputs before it among the packed patches
  };

  PatchWindow window;  // of the taps that meet the image
  std::vector<Region> regions;
  std::vector<Reach> reaches;  // by tap
  int64_t products = 0;        // outputs times the taps that reach them
};

// For two axes.
DilatedPlan PlanDilated(const ConvGeometry& geometry);

// Returns whether every output meets a tap and a quarter of the products, at least, would be of
// padding.
bool SavesProducts(const DilatedPlan& plan);

}  // namespace onward::kernels::cpu
