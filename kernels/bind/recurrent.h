// Shapes and attributes of RNN, GRU and LSTM.
#pragma once

#include <limits>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "onward/kernel.h"
#include "onward/shape.h"

namespace onward::kernels {

enum class GateFunction : uint8_t {
  kRelu,
  kTanh,
  kSigmoid,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus,
};

struct RecurrentActivation {
  GateFunction kind = GateFunction::kTanh;
  float alpha = 0.0f;
  float beta = 0.0f;
};

enum class RecurrentOp : uint8_t { kRnn, kGru, kLstm };

struct RecurrentAttributes {
  RecurrentOp op = RecurrentOp::kRnn;
  int64_t hidden_size = 0;  // 0: as R says
  int directions = 1;
  bool first_reversed = false;  // direction 0 runs backwards; direction 1 always does
  bool batch_first = false;     // layout 1
  bool linear_before_reset = false;
  bool input_forget = false;
  float clip = std::numeric_limits<float>::infinity();
  // f (RNN), f g (GRU), f g h (LSTM) of direction 0, then of direction 1.
  absl::InlinedVector<RecurrentActivation, 6> activations;

  int gates() const { return op == RecurrentOp::kRnn ? 1 : op == RecurrentOp::kGru ? 3 : 4; }
  int functions() const { return op == RecurrentOp::kRnn ? 1 : op == RecurrentOp::kGru ? 2 : 3; }
  bool reversed(int direction) const { return direction == 1 || first_reversed; }

  // InvalidArgument: an unknown direction, activation or layout, too few activations.
  static absl::StatusOr<RecurrentAttributes> Parse(const NodeSpec& spec, RecurrentOp op);
};

// Sizes, and the strides in elements of what `layout` permutes.
struct RecurrentGeometry {
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  int64_t x_step = 0, x_batch = 0;
  int64_t y_step = 0, y_direction = 0, y_batch = 0;
  int64_t h_direction = 0, h_batch = 0;  // of initial_h, initial_c, Y_h and Y_c

  Dims YDims(const RecurrentAttributes& attributes) const;
  Dims HDims(const RecurrentAttributes& attributes) const;
};

// Dims of the inputs, null where omitted.
struct RecurrentInputs {
  DimsView x, w, r;
  const DimsView* bias = nullptr;
  const DimsView* sequence_lens = nullptr;
  const DimsView* initial_h = nullptr;
  const DimsView* initial_c = nullptr;
  const DimsView* peepholes = nullptr;
};

absl::StatusOr<RecurrentGeometry> RecurrentDims(const RecurrentAttributes& attributes,
                                                const RecurrentInputs& inputs);

// Checks every input of the node that `context` binds, sets its outputs and returns the sizes.
absl::StatusOr<RecurrentGeometry> BindRecurrent(const RecurrentAttributes& attributes,
                                                BindContext& context);

// InvalidArgument unless every length is in [0, steps].
absl::Status CheckSequenceLens(absl::Span<const int32_t> lens, int64_t steps);

}  // namespace onward::kernels
