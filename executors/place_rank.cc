#include "executors/place_rank.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "executors/provider.h"
#include "onward/communicator.h"
#include "onward/ranks.h"
#include "onward/status.h"

namespace onward::executors {

absl::Status PlaceRank(SessionOptions& options) {
  if (options.communicator == nullptr) return absl::OkStatus();
  if (options.provider == "cuda") options.provider = absl::StrCat("cuda:", RankOfHost());
  if (!options.communicator->device().is_host()) return absl::OkStatus();
  absl::StatusOr<const ExecutionProvider*> provider = FindProvider(options.provider);
  const bool on_device = provider.ok() && !(*provider)->is_host();
  ONWARD_ASSIGN_OR_RETURN(const std::vector<double> all,
                          AllGather(*options.communicator, on_device ? 1 : 0));
  ONWARD_RETURN_IF_ERROR(provider.status());
  for (const double each : all)
    if (each == 0) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<Communicator>> ranks =
      (*provider)->JoinRanks(options.communicator);
  if (ranks.ok()) {
    options.communicator = *std::move(ranks);
    return absl::OkStatus();
  }
  if (!absl::IsUnimplemented(ranks.status())) return ranks.status();
  Warn(options.log, "session",
       absl::StrCat("gradients are summed through the host's memory: ",
                    std::string(ranks.status().message())));
  return absl::OkStatus();
}

}  // namespace onward::executors
