#include "graph/base/quantized_range.h"

#include <limits>

namespace onward {

QuantizedRange QuantizedRangeOf(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
      return {0, 255};
    case DType::kInt8:
      return {-128, 127};
    case DType::kUint16:
      return {0, 65535};
    case DType::kInt16:
      return {-32768, 32767};
    case DType::kUint4:
      return {0, 15};
    case DType::kInt4:
      return {-8, 7};
    case DType::kUint2:
      return {0, 3};
    case DType::kInt2:
      return {-2, 1};
    case DType::kFloat8E4M3FN:
      return {-448, 448};
    case DType::kFloat8E4M3FNUZ:
      return {-240, 240};
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      return {-57344, 57344};
    case DType::kFloat4E2M1:
      return {-6, 6};
    case DType::kFloat6E2M3:
      return {-7.5, 7.5};
    case DType::kFloat6E3M2:
      return {-28, 28};
    default:
      return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
}

}  // namespace onward
