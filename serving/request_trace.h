// Traces of single requests, as files that Perfetto and chrome://tracing open: when a request
// waited, was read, was joined with others, each step of its run, and the writing of its reply.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onward/trace.h"

namespace onward::serving {

// Which requests are traced. Thread-safe but for the directory, which is set before requests come.
class RequestTracing {
 public:
  static constexpr uint64_t kRate = 1;
  static constexpr int64_t kCount = 100;

  std::string directory;  // "": there are no traces
  std::atomic<bool> on{true};
  std::atomic<uint64_t> rate{kRate};  // one of so many requests
  std::atomic<int64_t> left{kCount};  // traces that are still written; negative: any number

  // Null: the request that begins now is not traced.
  std::shared_ptr<Trace> Begin();
  // Writes "request_NUMBER[_TRACEID].json" and returns its path. Errors as Trace::WriteChromeTrace.
  absl::StatusOr<std::string> Write(const Trace& trace, std::string_view trace_id);

 private:
  std::atomic<uint64_t> seen_{0}, written_{0};
};

using TraceClock = std::chrono::steady_clock;
// A null trace takes nothing.
void AddSpan(Trace* trace, const char* name, TraceClock::time_point begin,
             TraceClock::time_point end);

}  // namespace onward::serving
