// The processes of one command that `onward launch` or torchrun started.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/communicator.h"

namespace onward::cli {

// onward::JoinRanks as the environment says; a call that hangs as a rank has died ends the process,
// with the error.
absl::StatusOr<std::shared_ptr<Communicator>> JoinRanks();

// The physical cores, shared by the processes of this host.
int ThreadsOfRank();

// `status`, or an error without a message where another rank reports it: its own error, or that a
// rank is gone, is printed once.
absl::Status ReportedError(Communicator& communicator, const absl::Status& status);

}  // namespace onward::cli
