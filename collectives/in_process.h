// Ranks that are threads of one process, for tests.
#pragma once

#include <memory>
#include <vector>

#include "onward/communicator.h"

namespace onward::collectives {

// One end per rank, each for a thread of its own. Tensors that differ in dtype or size are
// FailedPrecondition on every rank. A rank leaves where its end is destroyed: others that wait for
// it, or call afterwards, get Aborted.
std::vector<std::unique_ptr<Communicator>> InProcessRanks(int size);

}  // namespace onward::collectives
