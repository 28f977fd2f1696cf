// Measures how many threads a model's runs are worth.
#pragma once

#include "onward/session.h"

namespace onward::serving {

// Returns whether one row runs faster with the session's threads than in one, by measuring a few
// runs on zeros, which warms the session up too. True where such a run fails or takes long, which
// makes measuring dear.
// `example_size`: see LeastExampleSize.
bool GainsByThreads(Session& session, int64_t example_size);

}  // namespace onward::serving
