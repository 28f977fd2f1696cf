// What ran when: one event per step, written as a Chrome trace (opens in Perfetto and
// chrome://tracing).
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
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
  uint32_t thread = 0;
};

// Thread-safe.
class ProfileLog {
 public:
  void Add(ProfileEvent event);
  std::vector<ProfileEvent> events() const;
  // {"traceEvents":[{"name","cat","ph":"X","ts","dur" (us),"pid","tid","args"}]}
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
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  void Record();

  ProfileLog* log_;
  const Program& program_;
  const Step& step_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace onward
