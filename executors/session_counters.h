// The counters of sessions (SessionOptions::counters), looked up by name once.
#pragma once

#include <chrono>
#include <optional>

#include "onward/counters.h"

namespace onward::executors {

struct SessionCounters {
  explicit SessionCounters(Counters& counters)
      : runs(counters.Named("session/runs")),
        failed_runs(counters.Named("session/failed_runs")),
        run_nanoseconds(counters.Named("session/run_nanoseconds")),
        bindings(counters.Named("session/bindings")) {}

  Counter &runs, &failed_runs, &run_nanoseconds, &bindings;
};

// Counts a run and its time, where the session counts.
class RunCount {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RunCount(const std::optional<SessionCounters>& counters)
      : counters_(counters ? &*counters : nullptr) {
    if (counters_ != nullptr) begin_ = Clock::now();
  }
  ~RunCount() {
    if (counters_ == nullptr) return;
    counters_->runs.Add();
    counters_->run_nanoseconds.Add(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count());
  }
  RunCount(const RunCount&) = delete;
  RunCount& operator=(const RunCount&) = delete;

 private:
  const SessionCounters* counters_;
  Clock::time_point begin_;
};

}  // namespace onward::executors
