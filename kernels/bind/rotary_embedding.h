// The geometry of RotaryEmbedding, and the rotation of a pair.
#pragma once

#include "absl/status/status.h"
#include "kernels/bind/attention.h"
#include "kernels/functor.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct RotatedPair {
  float first, second;
};

// Turns (a, b) by the angle of that cosine and sine.
ONWARD_HOST_DEVICE inline RotatedPair Rotated(float a, float b, float cos, float sin) {
  return {cos * a - sin * b, sin * a + cos * b};
}

// Keeps RotaryGeometry as the state and settles output 0.
absl::Status BindRotaryEmbedding(BindContext& context, const RotaryAttributes& attributes);

}  // namespace onward::kernels
