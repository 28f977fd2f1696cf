// The range of a quantized element.
#pragma once

#include "onward/dtype.h"

namespace onward {

struct QuantizedRange {
  double low, high;
};

// The least and greatest value of a type that QuantizeLinear gives: integers of up to 16 bits and
// floats of up to 8. Infinite for other types.
QuantizedRange QuantizedRangeOf(DType dtype);

}  // namespace onward
