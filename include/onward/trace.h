// A record of what ran when, and how much memory was in use: one event per step, written as a
// Chrome trace (opens in Perfetto and chrome://tracing).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace onward {

struct TraceEvent {
  std::string name;
  std::string kernel;
  std::string op;
  int64_t begin_ns = 0;
  int64_t duration_ns = 0;
  int64_t live_bytes = 0;  // of values and scratch that the session holds while the step runs
  uint32_t thread = 0;
  // "float32[8,3]"; "-" for an input that is omitted or not a tensor.
  std::vector<std::string> inputs = {};
};

// The time of all steps of one operator by one kernel.
struct OpTime {
  std::string op;
  std::string kernel;
  int64_t calls = 0;
  int64_t self_ns =
      0;  // without the steps of bodies (Loop, If, Scan, functions), which count alone
};

// The times of a trace's operators, the longest first; of equal times, by name.
std::vector<OpTime> OpTimesOf(absl::Span<const TraceEvent> events);

// Thread-safe.
class Trace {
 public:
  void Add(TraceEvent event);
  std::vector<TraceEvent> events() const;
  // The event with the most bytes; none: no event has any.
  std::optional<TraceEvent> Peak() const;
  // {"traceEvents":[{"name","cat","ph":"X","ts","dur" (us),"pid","tid","args"}]}, where args has
  // op, kernel, inputs ("float32[8,3] int64[]") and live_bytes, and counters
  // {"name":"memory","ph":"C","ts","pid","args":{"live_bytes"}} where a step begins, with the
  // greatest in "otherData".
  absl::Status WriteChromeTrace(const std::string& path) const;

 private:
  mutable std::mutex mutex_;
  std::vector<TraceEvent> events_;
};

}  // namespace onward
