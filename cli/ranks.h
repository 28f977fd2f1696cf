// The processes of one command that `onward launch` or torchrun started.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "collectives/communicator.h"

namespace onward::cli {

// The variables that say which process this is.
inline constexpr char kRank[] = "RANK";
inline constexpr char kWorldSize[] = "WORLD_SIZE";
inline constexpr char kLocalRank[] = "LOCAL_RANK";
inline constexpr char kLocalWorldSize[] = "LOCAL_WORLD_SIZE";  // processes on this host
inline constexpr char kMasterAddress[] = "MASTER_ADDR";
inline constexpr char kMasterPort[] = "MASTER_PORT";
// Where rank 0 listens; default: the port after MASTER_PORT, which torchrun's agent has itself.
inline constexpr char kPort[] = "ONWARD_MASTER_PORT";

// As the environment says; null: this process is alone. Returns once all are there.
// InvalidArgument: a variable that is missing or is not a number.
absl::StatusOr<std::shared_ptr<Communicator>> JoinRanks();

// `status`, or an error without a message where another rank reports it: its own error, or that a
// rank is gone, is printed once.
absl::Status ReportedError(Communicator& communicator, const absl::Status& status);

// The physical cores, shared by the processes of this host.
int ThreadsOfRank();

}  // namespace onward::cli
