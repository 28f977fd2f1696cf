// The attributes and geometry of LRN and LpNormalization.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/bind/softmax.h"
#include "onward/kernel.h"

namespace onward::kernels {

struct LrnParameters {
  int64_t size = 1;
  float alpha = 1e-4f, beta = 0.75f, bias = 1.0f;

  // InvalidArgument: a size that is not positive.
  static absl::StatusOr<LrnParameters> Parse(const NodeSpec& spec);
};

// The attribute p of LpNormalization; InvalidArgument: neither 1 nor 2.
absl::StatusOr<int64_t> ParseNorm(const NodeSpec& spec);

// Keeps an AxisSplit as the state and gives output 0 the input's dims. InvalidArgument where the
// input has no such axis; the last one of a scalar is itself.
absl::Status BindColumns(BindContext& context, int64_t axis);

}  // namespace onward::kernels
