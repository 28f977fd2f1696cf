// The one opset used inside; import upgrades to it.
#pragma once

#include <cstdint>

namespace onward {

// Of ai.onnx and of ai.onnx.ml.
inline constexpr int64_t kOpset = 28;
inline constexpr int64_t kMlOpset = 5;

}  // namespace onward
