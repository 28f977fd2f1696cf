// Models of float32 as models of 16-bit floats.
#pragma once

#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "onward/dtype.h"
#include "onward/graph.h"

namespace onward::quantization {

struct HalfFloatOptions {
  DType dtype = DType::kFloat16;  // or kBFloat16
  // False: weights are stored in `dtype` behind a Cast, and float32 is what computes; for runtimes
  // that have no arithmetic of `dtype`.
  bool arithmetic = true;
  // Inputs and outputs of float32 become `dtype`, too; else Casts stand at the border.
  bool convert_io = false;
  // True if a value, by its name, is known to leave the range of `dtype`: what makes or reads it
  // stays in float32. Null: nothing is known of values that are not constants.
  std::function<bool(std::string_view name)> overflows = nullptr;
};

struct HalfFloatReport {
  int lowered = 0;  // nodes that compute in `dtype`
  int islands = 0;  // nodes that would, but for the range of what they read or make
  int weights = 0;  // constants in `dtype`
};

// Products, and what follows them, compute in `dtype`; sums, exponentials and normalizations stay
// in float32 (graph/rewrite/autocast). A node stays in float32, too, where a constant that it reads
// does not fit into float16: beyond 65504, or all of it below 2^-14, such as an epsilon. Names of
// inputs and outputs stay. Weights that bodies of control flow capture stay float32 behind a Cast.
// Unimplemented: state (Model::updates) with convert_io.
absl::StatusOr<HalfFloatReport> ConvertToHalfFloats(Model& model, const HalfFloatOptions& options);

// Returns whether float16 holds the finite elements of a float32 constant.
bool FitsFloat16(const Tensor& constant);

}  // namespace onward::quantization
