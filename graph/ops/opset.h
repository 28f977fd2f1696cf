// The one opset used inside; import upgrades to it.
#pragma once

#include <cstdint>

namespace onward {

// The versions of ai.onnx and ai.onnx.ml that graphs are in.
inline constexpr int64_t kOpset = 28;
inline constexpr int64_t kMlOpset = 5;

}  // namespace onward
