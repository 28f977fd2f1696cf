#include "serving/repository/queue_config.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

absl::StatusOr<QueuePolicy> ReadPolicy(const config::QueuePolicy& policy,
                                       const std::string& field) {
  QueuePolicy read;
  const uint64_t timeout = policy.default_timeout_microseconds();
  if (timeout > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return absl::InvalidArgumentError(absl::StrCat("the model's configuration: ", field,
                                                   ": default_timeout_microseconds: ", timeout,
                                                   " is too long"));
  if (timeout > 0) read.timeout = std::chrono::microseconds(static_cast<int64_t>(timeout));
  read.takes_shorter = policy.allow_timeout_override();
  read.delays = policy.timeout_action() == config::QueuePolicy::DELAY;
  read.most = policy.max_queue_size();
  return read;
}

absl::Status ReadLevels(const config::DynamicBatching& batching, QueueConfig& read) {
  const std::string field = "dynamic_batching";
  read.levels = batching.priority_levels();
  const uint64_t given = batching.default_priority_level();
  if (given > read.levels)
    return absl::InvalidArgumentError(
        absl::StrCat("the model's configuration: ", field, ": default_priority_level: expected at ",
                     "most priority_levels, ", read.levels, ", got ", given));
  if (read.levels > 0) read.default_level = given > 0 ? given : (read.levels + 1) / 2;
  if (batching.has_default_queue_policy()) {
    ONWARD_ASSIGN_OR_RETURN(read.policy, ReadPolicy(batching.default_queue_policy(),
                                                    absl::StrCat(field, ": default_queue_policy")));
  }
  for (const auto& [level, policy] : batching.priority_queue_policy()) {
    const std::string of_it = absl::StrCat(field, ": priority_queue_policy ", level);
    if (level == 0 || level > read.levels)
      return absl::InvalidArgumentError(
          absl::StrCat("the model's configuration: ", of_it,
                       ": expected a level from 1 to priority_levels, ", read.levels));
    ONWARD_ASSIGN_OR_RETURN(read.level_policies[level], ReadPolicy(policy, of_it));
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t QueueConfig::LevelOf(uint64_t priority) const {
  return priority == 0 || (levels > 0 && priority > levels) ? default_level : priority;
}

const QueuePolicy* QueueConfig::PolicyOf(uint64_t level) const {
  const auto own = level_policies.find(level);
  if (own != level_policies.end()) return &own->second;
  return policy ? &*policy : nullptr;
}

std::optional<std::chrono::microseconds> QueueConfig::TakeTimeout(InferRequest& request) const {
  const QueuePolicy* const own = PolicyOf(LevelOf(request.priority));
  if (own == nullptr) return request.timeout;
  if (!own->takes_shorter || (own->timeout && request.timeout > own->timeout))
    request.timeout = std::nullopt;
  return request.timeout ? request.timeout : own->timeout;
}

bool QueueConfig::delays() const {
  return (policy && policy->delays) ||
         std::any_of(level_policies.begin(), level_policies.end(),
                     [](const auto& each) { return each.second.delays; });
}

absl::StatusOr<QueueConfig> ReadQueueConfig(const config::ModelConfig& config) {
  QueueConfig read;
  if (config.has_dynamic_batching())
    ONWARD_RETURN_IF_ERROR(ReadLevels(config.dynamic_batching(), read));
  return read;
}

}  // namespace onward::serving
