#include "onward/trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "files/write_file.h"
#include "onward/status.h"

namespace onward {

void Trace::Add(TraceEvent event) {
  std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

std::vector<TraceEvent> Trace::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

std::optional<TraceEvent> Trace::Peak() const {
  std::lock_guard lock(mutex_);
  const auto peak =
      std::max_element(events_.begin(), events_.end(),
                       [](const auto& a, const auto& b) { return a.live_bytes < b.live_bytes; });
  if (peak == events_.end()) return std::nullopt;
  return *peak;
}

absl::Status Trace::WriteChromeTrace(const std::string& path) const {
  nlohmann::json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", nlohmann::json::array()}};
  if (const std::optional<TraceEvent> peak = Peak()) {
    trace["otherData"] = {{"peak_live_bytes", peak->live_bytes}, {"peak_at", peak->name}};
  }
  for (const TraceEvent& event : events()) {
    trace["traceEvents"].push_back({{"name", "memory"},
                                    {"ph", "C"},
                                    {"ts", static_cast<double>(event.begin_ns) * 1e-3},
                                    {"pid", 1},
                                    {"args", {{"live_bytes", event.live_bytes}}}});
    trace["traceEvents"].push_back(
        {{"name", event.name},
         {"cat", event.op},
         {"ph", "X"},
         {"ts", static_cast<double>(event.begin_ns) * 1e-3},
         {"dur", static_cast<double>(event.duration_ns) * 1e-3},
         {"pid", 1},
         {"tid", event.thread},
         {"args", {{"op", event.op}, {"kernel", event.kernel}, {"live_bytes", event.live_bytes}}}});
  }
  return Annotate(
      files::WriteFile(path,
                       trace.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"),
      "the profile:");
}

}  // namespace onward
