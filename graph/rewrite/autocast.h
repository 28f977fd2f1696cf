// Mixed precision: products in 16 bits, the rest where its sums and range allow it.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "onward/dtype.h"
#include "onward/graph.h"

namespace onward {

struct AutocastOptions {
  DType dtype = DType::kBFloat16;
  // True if a node stays in float32 although its class says otherwise; null: none does.
  std::function<bool(const Graph& graph, NodeId id)> stays = nullptr;
  // Constants of any size follow what they meet, and what reads constants alone, such as a table's
  // rows, is computed in `dtype`: for a model that is to be small, not trained.
  bool constants_follow = false;
};

// Rewrites a float32 model to compute in `dtype` (kBFloat16 or kFloat16) as torch.autocast does on
// CUDA, by the classes of graph/ops/facts.h: products cast their float32 operands, each value once;
// ops that need float32 get it; others take the widest of their inputs, to which scalars do not
// count and the constant bias that follows a MatMul neither. What a schema does not allow in
// `dtype` stays in float32, as do sequences and what enters and leaves bodies.
//
// The model's inputs, outputs, constants and state keep dtype and name: weights are float32 masters
// behind Casts, so gradients that are taken afterwards arrive in float32.
//
// The CPU's pass widen_floats takes the Casts away again (unless the session is kStrict) and leaves
// the rounding of operands to products of Precision::kFast.
// `budget` as a pass's: each node that computes in `dtype` is a patch.
absl::Status Autocast(Model& model, const AutocastOptions& options, int& budget);
absl::Status Autocast(Model& model, DType dtype, int& budget);

}  // namespace onward
