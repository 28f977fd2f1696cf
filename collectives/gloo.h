// Ranks that are processes, over TCP, by Gloo.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "collectives/communicator.h"
#include "collectives/roll_call.h"

namespace onward {

// Whether this build has Gloo.
bool HasGloo();

// Returns once every rank is there. Unimplemented: the build has no Gloo; others as RollCall::Join.
absl::StatusOr<std::unique_ptr<Communicator>> JoinGloo(const RollCall::Options& options);

}  // namespace onward
