// Measures how many threads a model's runs are worth.
#pragma once

#include "onward/session.h"

namespace onward::serving {

// Returns whether one row runs faster with the session's threads than in one, by measuring a few
// runs on zeros, which warms the session up too. True where such a run fails or takes long, which
// makes measuring dear.
bool GainsByThreads(Session& session);

}  // namespace onward::serving
