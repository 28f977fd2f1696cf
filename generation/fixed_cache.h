// Caches of keys and values that have room for tokens to come and are written in place.
#pragma once

#include "absl/status/statusor.h"
#include "onward/graph.h"
#include "onward/session.h"

namespace onward::generation {

// The input that says how many tokens the caches hold: int64[batch].
inline constexpr char kPastLengthName[] = "past_length";

// Attention that gives its past keys and values again with the new ones behind them, or that takes
// both from Concats, caches being inputs and outputs of the model, becomes TensorScatter into a
// cache of any capacity and Attention over the part that is filled (the standard's
// nonpad_kv_seqlen); each cache is updated by its output (Model::updates). Then the shapes of all
// steps but the first are the same, and a session may write the caches in place. False, and nothing
// has changed, where a cache is used in another way.
absl::StatusOr<bool> UseFixedCaches(Model& model);

// The same where attention is first to be found among the parts that exporters write, by the passes
// of a session with `options`.
absl::StatusOr<bool> OptimizeAndUseFixedCaches(Model& model, const SessionOptions& options);

}  // namespace onward::generation
