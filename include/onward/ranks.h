// Processes that train together ("ranks"), like the process groups of torch.distributed.
//
//   ONWARD_ASSIGN_OR_RETURN(auto ranks, onward::JoinRanks());  // of `onward launch` or torchrun
//   onward::TrainerOptions options;
//   options.communicator = ranks;  // null: this process trains alone
//   options.threads = onward::PhysicalCores() / onward::RanksOfHost();
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/communicator.h"

namespace onward {

struct RankOptions {
  int rank = 0;
  int size = 1;
  std::string address = "127.0.0.1";  // of rank 0, which listens there
  int port = 0;
  std::chrono::seconds patience{300};  // for ranks that are late
  // Called from another thread with the error, when a rank has died and the call that waits for
  // it does not return: nothing but the end of the process ends that call. Null: it waits.
  std::function<void(int lost, const absl::Status& error)> on_hang = nullptr;
};

// Reads the variables that `onward launch` and torchrun set: RANK, WORLD_SIZE, MASTER_ADDR, and
// ONWARD_MASTER_PORT, else the port after MASTER_PORT, on which torchrun itself listens.
// Without such variables the size is 1. InvalidArgument: one is missing or is not a number.
absl::StatusOr<RankOptions> RankOptionsOfEnvironment();

// Joins the ranks over TCP and returns once every one is there; null for one rank alone.
// InvalidArgument: ranks that disagree on `size`, two of one number, or an address that is not one;
// DeadlineExceeded names ranks that did not come; Unimplemented: the build has no Gloo.
absl::StatusOr<std::shared_ptr<Communicator>> JoinRanks(const RankOptions& options);
// The same as the environment says.
absl::StatusOr<std::shared_ptr<Communicator>> JoinRanks();

// The number of ranks on this host (LOCAL_WORLD_SIZE); 1 where the environment does not say.
int RanksOfHost();
// The number of this rank among them, from 0 on (LOCAL_RANK); 0 where the environment does not say.
int RankOfHost();

}  // namespace onward
