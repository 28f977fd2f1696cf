// Defaults of Selu's attributes since opset 6, as the ONNX operator specification has them.
#pragma once

namespace onward {

inline constexpr float kSeluAlpha = 1.67326319217681884765625f;
inline constexpr float kSeluGamma = 1.05070102214813232421875f;

}  // namespace onward
