// Where vectors of output pixels lie in the planes of conv_tile.h.
#pragma once

#include "kernels/cpu/simd/conv_tile.h"
#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// A vector of output pixels as pieces of rows: those in `mask` are read at offset + lane.
struct PatchPiece {
  int64_t offset;
  LoadMask mask;
};
struct PatchVec {
  PatchPiece pieces[kLanes];
  int num_pieces;
  int lanes;
};

inline PatchVec PatchVecAt(const PatchSource& source, int64_t pixel, int lanes) {
  PatchVec vec;
  vec.num_pieces = 0;
  vec.lanes = lanes;
  int64_t y = pixel / source.out_w, x = pixel % source.out_w, image = 0;
  if (source.rows > 0) {
    image = y / source.rows;
    y %= source.rows;
  }
  for (int lane = 0; lane < lanes; ++y, x = 0) {
    if (source.rows > 0 && y == source.rows) {
      ++image;
      y = 0;
    }
    vec.pieces[vec.num_pieces++] = {image * source.image + y * source.row + x - lane,
                                    LanesFrom(lane)};
    const int64_t left = source.out_w - x;
    lane += left < kLanes ? static_cast<int>(left) : kLanes;
  }
  return vec;
}

// The vectors of `count` pixels from `pixel` on, in panels of `width`.
struct PatchVecs {
  PatchVec vecs[kMaxPatchPanels * kMaxPatchWidth / kLanes];
  int of_panel[kMaxPatchPanels];
  int num_panels;
};

inline void SetPatchVecs(const PatchSource& source, int64_t pixel, int64_t count, int width,
                         PatchVecs& all) {
  int num_vecs = 0;
  all.num_panels = 0;
  for (int64_t first = 0; first < count; first += width) {
    const int pixels = count - first < width ? static_cast<int>(count - first) : width;
    all.of_panel[all.num_panels++] = (pixels + kLanes - 1) / kLanes;
    for (int lane = 0; lane < pixels; lane += kLanes) {
      const int lanes = pixels - lane < kLanes ? pixels - lane : kLanes;
      all.vecs[num_vecs++] = PatchVecAt(source, pixel + first + lane, lanes);
    }
  }
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
