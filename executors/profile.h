// What ran when, and how much memory was in use: one event per step, written as a Chrome trace
// (opens in Perfetto and chrome://tracing).
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "executors/plan/program.h"

namespace onward {

struct ProfileEvent {
  std::string name;
  std::string_view kernel;
  std::string op;
  int64_t begin_ns = 0;
  int64_t duration_ns = 0;
  int64_t live_bytes = 0;  // of values and scratch that the session holds while the step runs
  uint32_t thread = 0;
};

// Thread-safe.
class ProfileLog {
 public:
  void Add(ProfileEvent event);
  std::vector<ProfileEvent> events() const;
  // The event with the most bytes; none: no event has any.
  std::optional<ProfileEvent> Peak() const;
  // {"traceEvents":[{"name","cat","ph":"X","ts","dur" (us),"pid","tid","args"}]}, and counters
  // {"name":"memory","ph":"C","ts","pid","args":{"live_bytes"}} where a step begins, with the
  // greatest in "otherData".
  absl::Status WriteChromeTrace(const std::string& path) const;

 private:
  mutable std::mutex mutex_;
  std::vector<ProfileEvent> events_;
};

// Times a step from construction to destruction; does nothing without a log.
class ProfileScope {
 public:
  ProfileScope(ProfileLog* log, const Program& program, const Step& step)
      : log_(log), program_(program), step_(step) {
    if (log_ != nullptr) begin_ = std::chrono::steady_clock::now();
  }
  ~ProfileScope() {
    if (log_ != nullptr) Record();
  }
  // Of what the step needs.
  void set_live_bytes(int64_t bytes) { live_bytes_ = bytes; }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  void Record();

  ProfileLog* log_;
  const Program& program_;
  const Step& step_;
  int64_t live_bytes_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace onward
