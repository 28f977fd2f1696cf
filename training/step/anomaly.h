// Values that are NaN or infinite, found where they arise.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "onward/kernel.h"

namespace onward::training {

// For SessionOptions::watch. FailedPrecondition: an element is NaN or plus infinity. Minus infinity
// passes: masks of attention are it by intent.
absl::Status RefuseNonFinite(std::string_view name, const TensorView& value);

}  // namespace onward::training
