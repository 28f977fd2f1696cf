// The part of a model's configuration about waiting requests: dynamic_batching.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/status/statusor.h"
#include "serving/protocol/infer_request.h"
#include "serving/repository/model_config.pb.h"

namespace onward::serving {

// The rules for waiting requests of one priority.
struct QueuePolicy {
  std::optional<std::chrono::microseconds> timeout;  // of the wait
  bool takes_shorter = false;  // a request's timeout counts, where it is the shorter one
  bool delays = false;  // who has waited for longer lets all others go first; else is refused
  size_t most = 0;      // requests that wait; 0: any number
};

struct QueueConfig {
  uint64_t levels = 0;  // of priority; 0: any
  uint64_t default_level = 2;
  std::optional<QueuePolicy> policy;  // of levels that have none of their own
  std::map<uint64_t, QueuePolicy> level_policies;

  // The level that a request's priority stands for; 0: it asks for none.
  uint64_t LevelOf(uint64_t priority) const;
  const QueuePolicy* PolicyOf(uint64_t level) const;  // null: none is configured
  // The time that the request may wait by the configuration; nothing: any time. Its own timeout,
  // which bounds the run too, is removed where the policy does not allow it.
  std::optional<std::chrono::microseconds> TakeTimeout(InferRequest& request) const;
  bool delays() const;  // whether a policy does
};

// InvalidArgument names the field, what was expected and what it has.
absl::StatusOr<QueueConfig> ReadQueueConfig(const config::ModelConfig& config);

}  // namespace onward::serving
