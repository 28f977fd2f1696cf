#include "cli/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/exit_code.h"
#include "onward/ranks.h"
#include "onward/status.h"
#include "onward/thread_pool.h"

namespace onward::cli {
namespace {

// The rank that prints what all ranks notice.
bool Reports(int rank, int lost) { return rank == (lost == 0 ? 1 : 0); }

}  // namespace

absl::StatusOr<std::shared_ptr<Communicator>> JoinRanks() {
  ONWARD_ASSIGN_OR_RETURN(RankOptions options, RankOptionsOfEnvironment());
  options.on_hang = [rank = options.rank](int lost, const absl::Status& error) {
    if (Reports(rank, lost))
      std::fprintf(stderr, "error: %s\n", std::string(error.message()).c_str());
    _exit(ExitCodeOf(error));
  };
  return onward::JoinRanks(options);
}

int ThreadsOfRank() { return std::max(1, PhysicalCores() / RanksOfHost()); }

absl::Status ReportedError(Communicator& communicator, const absl::Status& status) {
  if (status.ok() || status.message().empty()) return status;
  const absl::Status silent = ErrorWithExitCode("", ExitCodeOf(status));
  if (status == communicator.status()) {
    if (absl::IsAborted(status) && communicator.rank() > 0) return silent;
    const int lost = communicator.WaitForLostRank(std::chrono::milliseconds(0));
    return Reports(communicator.rank(), lost) ? status : silent;
  }
  if (communicator.rank() == 0) return status;
  // Rank 0 most often has the same error.
  if (communicator.WaitForLostRank(std::chrono::seconds(1)) == 0) return silent;
  absl::Status named(status.code(), absl::StrCat("rank ", communicator.rank(), ": ",
                                                 std::string(status.message())));
  status.ForEachPayload(
      [&](const auto type, const absl::Cord& payload) { named.SetPayload(type, payload); });
  return named;
}

}  // namespace onward::cli
