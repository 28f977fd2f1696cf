// Ranks that are processes, over TCP, by Gloo.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "onward/communicator.h"
#include "onward/ranks.h"

namespace onward::collectives {

// Returns whether this build has Gloo.
bool HasGloo();

// Returns once every rank is there. Unimplemented: the build has no Gloo; others as RollCall::Join.
absl::StatusOr<std::unique_ptr<Communicator>> JoinGloo(const RankOptions& options);

}  // namespace onward::collectives
