#include "serving/request_trace.h"

#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {

std::shared_ptr<Trace> RequestTracing::Begin() {
  if (directory.empty() || !on) return nullptr;
  if (seen_++ % rate != 0) return nullptr;
  int64_t traces = left;
  while (traces > 0 && !left.compare_exchange_weak(traces, traces - 1)) {
  }
  return traces == 0 ? nullptr : std::make_shared<Trace>();
}

absl::StatusOr<std::string> RequestTracing::Write(const Trace& trace, std::string_view trace_id) {
  const std::string path =
      absl::StrCat(directory, "/request_", ++written_, trace_id.empty() ? "" : "_",
                   std::string(trace_id), ".json");
  ONWARD_RETURN_IF_ERROR(trace.WriteChromeTrace(path));
  return path;
}

void AddSpan(Trace* trace, const char* name, TraceClock::time_point begin,
             TraceClock::time_point end) {
  if (trace == nullptr) return;
  const auto nanoseconds = [](TraceClock::duration duration) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  };
  TraceEvent event;
  event.name = name;
  event.op = "request";
  event.begin_ns = nanoseconds(begin.time_since_epoch());
  event.duration_ns = nanoseconds(end - begin);
  event.thread =
      static_cast<uint32_t>(std::hash<std::thread::id>()(std::this_thread::get_id()) % 100000);
  trace->Add(std::move(event));
}

}  // namespace onward::serving
