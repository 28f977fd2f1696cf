// The size that Resize makes of a scale.
#pragma once

#include <cmath>
#include <cstdint>

namespace onward {

// floor(size * scale) with the product rounded to float32, the scale's own type: exporters write
// 9 / 5 as 1.8f, whose exact product with 5 is less than 9. So do ONNX Runtime and PyTorch.
inline double ScaledSize(int64_t size, float scale) {
  constexpr int64_t kExact = int64_t{1} << 24;
  if (size <= kExact) return static_cast<double>(std::floor(static_cast<float>(size) * scale));
  return std::floor(static_cast<double>(size) * static_cast<double>(scale));
}

}  // namespace onward
