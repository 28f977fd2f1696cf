// Caches of any capacity in models that say by a mask which columns of them count.
#pragma once

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward::generation {

// Concats of a cache and the new keys or values, as exporters write them, become TensorScatter into
// the last columns of the cache, which its output updates (Model::updates). The model then sees as
// many columns as the cache has, not more; its attention_mask has that width and hides those that
// hold no token. False, and nothing has changed, where a cache is used in another way, or where
// there is no mask.
absl::StatusOr<bool> UseMaskedCaches(Model& model);

}  // namespace onward::generation
