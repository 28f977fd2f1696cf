// Gives back, from time to time, what nobody uses any more: the memory of runs, and sequences.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "serving/model_repository.h"

namespace onward::serving {

// Releases what the ready models keep for coming requests and have not used since; ends sequences
// that were idle for too long at `now`.
void ReleaseIdle(const ModelRepository& models, std::chrono::steady_clock::time_point unused_since,
                 std::chrono::steady_clock::time_point now);

// Calls ReleaseIdle each `period` for what was unused for `most_idle`. Thread-safe.
class IdleTimer {
 public:
  // `models` must outlive the timer.
  IdleTimer(const ModelRepository& models, std::chrono::milliseconds period,
            std::chrono::milliseconds most_idle);

 private:
  std::mutex mutex_;
  std::condition_variable_any ends_;
  std::jthread thread_;
};

}  // namespace onward::serving
