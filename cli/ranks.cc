#include "cli/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/exit_code.h"
#include "collectives/gloo.h"
#include "onward/status.h"
#include "onward/thread_pool.h"

namespace onward::cli {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<int> Number(const char* name, int least, int most) {
  const std::string text = Variable(name);
  int number = 0;
  if (absl::SimpleAtoi(text, &number) && number >= least && number <= most) return number;
  return absl::InvalidArgumentError(absl::StrCat(
      "the environment variable ", name, " is ", text.empty() ? "not set" : "'" + text + "'",
      ", must be a number from ", least, " to ", most, " (`onward launch` and torchrun set it)"));
}

// The rank that prints what all ranks notice.
bool Reports(int rank, int lost) { return rank == (lost == 0 ? 1 : 0); }

}  // namespace

absl::StatusOr<std::shared_ptr<Communicator>> JoinRanks() {
  if (Variable(kWorldSize).empty() && Variable(kRank).empty()) return nullptr;
  constexpr int kMostRanks = 4096;
  RollCall::Options options;
  ONWARD_ASSIGN_OR_RETURN(options.size, Number(kWorldSize, 1, kMostRanks));
  if (options.size == 1) return nullptr;
  ONWARD_ASSIGN_OR_RETURN(options.rank, Number(kRank, 0, options.size - 1));
  if (Variable(kPort).empty()) {
    ONWARD_ASSIGN_OR_RETURN(const int agent, Number(kMasterPort, 1, 65534));
    options.port = agent + 1;
  } else {
    ONWARD_ASSIGN_OR_RETURN(options.port, Number(kPort, 1, 65535));
  }
  if (const std::string address = Variable(kMasterAddress); !address.empty())
    options.address = address;
  options.on_hang = [rank = options.rank](int lost, const absl::Status& error) {
    if (Reports(rank, lost))
      std::fprintf(stderr, "error: %s\n", std::string(error.message()).c_str());
    _exit(ExitCodeOf(error));
  };
  ONWARD_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> joined, JoinGloo(options));
  return std::shared_ptr<Communicator>(std::move(joined));
}

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

int ThreadsOfRank() {
  const absl::StatusOr<int> ranks = Number(kLocalWorldSize, 1, 1 << 20);
  return std::max(1, PhysicalCores() / ranks.value_or(1));
}

}  // namespace onward::cli
