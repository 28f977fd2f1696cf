// Attention written as products and a softmax, as exporters write it, becomes one op before it is
// differentiated: its gradient then computes probabilities again instead of keeping them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::training {

// Fuses what graph/passes fuse into Attention; a model without such parts of some length stays as
// it is, and so do the initializers of these names, outputs and updates. A row whose keys are all
// masked by -inf gives zeros, not NaN: not for strict arithmetic. `budget` as a pass's.
absl::Status FuseAttention(Model& model, absl::Span<const std::string> initializers, int& budget);

}  // namespace onward::training
