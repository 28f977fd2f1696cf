// Runs requests of one model together and replies to each.
#pragma once

#include "onward/run_options.h"
#include "serving/scheduling/waiting_request.h"

namespace onward::serving {

// All are read, and of one model. Where the joint run fails, each runs alone, so that nobody gets
// the error of another. The run ends once all clients have left. May throw where memory is missing,
// before all have their replies.
void RunBatch(WaitingRequests& batch, RunPriority priority);

}  // namespace onward::serving
