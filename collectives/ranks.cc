#include "onward/ranks.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "collectives/gloo.h"
#include "collectives/rank_variables.h"
#include "onward/status.h"

namespace onward {
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

}  // namespace

absl::StatusOr<RankOptions> RankOptionsOfEnvironment() {
  RankOptions options;
  if (Variable(collectives::kWorldSizeVariable).empty() &&
      Variable(collectives::kRankVariable).empty())
    return options;
  constexpr int kMostRanks = 4096;
  ONWARD_ASSIGN_OR_RETURN(options.size, Number(collectives::kWorldSizeVariable, 1, kMostRanks));
  if (options.size == 1) return options;
  ONWARD_ASSIGN_OR_RETURN(options.rank, Number(collectives::kRankVariable, 0, options.size - 1));
  if (Variable(collectives::kPortVariable).empty()) {
    ONWARD_ASSIGN_OR_RETURN(const int agent, Number(collectives::kMasterPortVariable, 1, 65534));
    options.port = agent + 1;
  } else {
    ONWARD_ASSIGN_OR_RETURN(options.port, Number(collectives::kPortVariable, 1, 65535));
  }
  if (const std::string address = Variable(collectives::kMasterAddressVariable); !address.empty())
    options.address = address;
  return options;
}

absl::StatusOr<std::shared_ptr<Communicator>> JoinRanks(const RankOptions& options) {
  if (options.size == 1 && options.rank == 0) return nullptr;
  ONWARD_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> joined, collectives::JoinGloo(options));
  return std::shared_ptr<Communicator>(std::move(joined));
}

absl::StatusOr<std::shared_ptr<Communicator>> JoinRanks() {
  ONWARD_ASSIGN_OR_RETURN(const RankOptions options, RankOptionsOfEnvironment());
  return JoinRanks(options);
}

int RankOfHost() { return Number(collectives::kLocalRankVariable, 0, 1 << 20).value_or(0); }

int RanksOfHost() { return Number(collectives::kLocalWorldSizeVariable, 1, 1 << 20).value_or(1); }

}  // namespace onward
