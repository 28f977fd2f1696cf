// Differences between values and those that a reference gives.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "onward/value.h"

namespace onward::cli {

struct ComparisonTolerance {
  double rtol = 1e-3, atol = 1e-5;
};

// Figures of numbers are over elements that are finite on both sides.
struct ValueComparison {
  std::string problem;  // other kinds, dtypes or shapes, which leave nothing to compare; "": none
  int64_t elements = 0;
  int64_t beyond = 0;  // elements that are not within |a - b| <= atol + rtol |b|
  double max_error = 0, mean_error = 0;
  std::string worst;  // "at [0,3]: 0.5, reference 0.6"; "" where all are equal
  // 1 - a.b / (|a| |b|), in which all elements take part; 0 where both are zero.
  double cosine_distance = 0;

  bool within() const { return problem.empty() && beyond == 0; }
  std::string text() const;
  nlohmann::json json() const;
};

// Floats and complex numbers compare within the tolerance; NaN equals NaN, and infinities
// themselves. All else compares exactly. Dtypes may differ among floats, and among integers.
// Sequences and maps compare value by value; the figures are of all of them.
ValueComparison CompareValues(const Value& value, const Value& reference,
                              const ComparisonTolerance& tolerance);

}  // namespace onward::cli
