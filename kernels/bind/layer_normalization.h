// Rows of LayerNormalization, RMSNormalization and their forms after a sum.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/broadcast.h"
#include "onward/kernel.h"

namespace onward::kernels {

// The axes of X from `axis` on are one row's columns, those before count the rows.
struct LayerRows {
  int64_t rows = 1, columns = 1;
};

// Gives output 0 the dims of X. InvalidArgument where X has no such axis; the others need it.
absl::StatusOr<LayerRows> BindLayerRows(BindContext& context, int64_t axis);

// The dims of X from `axis` on.
DimsView NormalisedDims(DimsView dims, int64_t axis);

// Gives the outputs 1 and 2 (mean, inverse deviation), where there are any, the dims of X with 1 in
// place of those from `axis` on.
void BindLayerStatistics(BindContext& context, int64_t axis);

// scale and bias broadcast to X; most often to the normalised part.
struct LayerPlan : LayerRows {
  bool simple = true;       // scale and bias cover the columns of every row alike
  BroadcastLoop<2> affine;  // else: over the whole of X
};

// Keeps a LayerPlan as the state and settles all outputs. Inputs X, scale, bias (may be omitted);
// with `adds`, the sum's second operand (may be omitted) behind X, and outputs Y and the sum.
absl::Status BindLayerNormalization(BindContext& context, int64_t axis, bool adds = false);

// The same for the gradient over the last axis: inputs X, scale [columns], dY as X; outputs as X,
// and, where there are any, [columns] for scale and bias.
absl::StatusOr<LayerRows> BindLayerNormalizationGradient(BindContext& context);

}  // namespace onward::kernels
