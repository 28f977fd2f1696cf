// Ranges of sizes in --shape: NAME=1..8x3x224x224.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace onward::cli {

// The values of --shape at both ends of their ranges; equal where they have none.
struct ShapeRanges {
  std::vector<std::string> low, high;  // "x=1x3x224x224", "x=8x3x224x224"

  bool open() const { return low != high; }
};

// InvalidArgument: what stands on a side of ".." is not a size, or the first is the larger one.
// A size without "..", right or wrong, stays as it is.
absl::StatusOr<ShapeRanges> SplitRanges(const std::vector<std::string>& shapes);

}  // namespace onward::cli
