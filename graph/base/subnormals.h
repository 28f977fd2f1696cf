// Subnormal floats: nonzero ones below the smallest normal, 2^-126 (IEEE 754-2019, 3.4).
#pragma once

#include "absl/types/span.h"

namespace onward {

bool HasSubnormals(absl::Span<const float> values);
// Makes them zeros of their sign.
void SubnormalsToZero(absl::Span<float> values);

}  // namespace onward
