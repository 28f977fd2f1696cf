// The boxes that NonMaxSuppression keeps, by where they lie: a box is compared with those near it.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/cpu/simd/box_overlap.h"

namespace onward::kernels::cpu {

// The axis along which boxes are short is cut into bins; a box stands in those that it covers.
class KeptBoxes {
 public:
  // The memory takes so many bytes for so many boxes.
  static int64_t Bytes(int64_t boxes);

  // `candidates`: the places in `boxes` of all that may be added. The memory is aligned for int64.
  KeptBoxes(const Box* boxes, absl::Span<const int32_t> candidates, FirstOverlapLoop first_overlap,
            char* memory);

  void Add(int32_t box);
  // Returns whether the overlap with a box that was added, over the area of both together, is more
  // than the threshold.
  bool Suppresses(int32_t box, float threshold) const;

 private:
  static constexpr int kMostBins = 256;
  static constexpr int kColumns = 5;  // of BoxColumns
  static constexpr int kCovered = 4;  // a box that covers more is compared with all

  struct Bins {
    int begin, end;
  };
  struct Line {
    int64_t first = 0, count = 0;  // entries
  };

  void ChooseAxis(absl::Span<const int32_t> candidates);
  void Reserve(absl::Span<const int32_t> candidates);
  int BinOf(float place) const;
  // Those that a box covers, none where it has NaN; of a wide one kMostBins alone.
  Bins Covered(const Box& box) const;
  bool SuppressesIn(const Line& line, const Box& box, float threshold) const;
  void AddTo(Line& line, int32_t box);

  static int NumBins(int64_t boxes);
  static int64_t Entries(int64_t boxes);

  const Box* boxes_;
  FirstOverlapLoop first_overlap_;
  int bins_;
  bool along_y_ = false;
  float low_ = 0, scale_ = 0;  // from a place to its bin
  int64_t entries_;
  Line* lines_;     // [bins + 1], of wide boxes the last
  float* columns_;  // [kColumns][entries]
  int32_t* index_;  // [entries]
};

}  // namespace onward::kernels::cpu
