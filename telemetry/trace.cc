#include "onward/trace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "files/write_file.h"
#include "onward/status.h"

namespace onward {

namespace {

// The places of events, so that those of a thread follow each other and each stands behind the one
// that it lies in.
std::vector<size_t> Nested(absl::Span<const TraceEvent> events) {
  std::vector<size_t> order(events.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&](size_t i) {
    return std::tuple(events[i].thread, events[i].begin_ns, -events[i].duration_ns);
  };
  // A step is recorded when it ends, so that of equal times the outer one comes later.
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return key(a) != key(b) ? key(a) < key(b) : a > b; });
  return order;
}

std::vector<int64_t> SelfTimes(absl::Span<const TraceEvent> events) {
  std::vector<int64_t> self(events.size());
  std::vector<size_t> open;  // events that lie in each other
  for (const size_t i : Nested(events)) {
    const TraceEvent& event = events[i];
    const auto is_over = [&](const TraceEvent& outer) {
      return outer.thread != event.thread ||
             outer.begin_ns + outer.duration_ns < event.begin_ns + event.duration_ns;
    };
    while (!open.empty() && is_over(events[open.back()])) open.pop_back();
    self[i] = event.duration_ns;
    if (!open.empty()) self[open.back()] -= event.duration_ns;
    open.push_back(i);
  }
  return self;
}

}  // namespace

std::vector<OpTime> OpTimesOf(absl::Span<const TraceEvent> events) {
  const std::vector<int64_t> self = SelfTimes(events);
  std::map<std::pair<std::string, std::string>, OpTime> times;
  for (size_t i = 0; i < events.size(); ++i) {
    OpTime& time = times[{events[i].op, events[i].kernel}];
    ++time.calls;
    time.self_ns += self[i];
  }
  std::vector<OpTime> sorted;
  for (auto& [key, time] : times) {
    std::tie(time.op, time.kernel) = key;
    sorted.push_back(std::move(time));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const OpTime& a, const OpTime& b) { return a.self_ns > b.self_ns; });
  return sorted;
}

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
    trace["traceEvents"].push_back({{"name", event.name},
                                    {"cat", event.op},
                                    {"ph", "X"},
                                    {"ts", static_cast<double>(event.begin_ns) * 1e-3},
                                    {"dur", static_cast<double>(event.duration_ns) * 1e-3},
                                    {"pid", 1},
                                    {"tid", event.thread},
                                    {"args",
                                     {{"op", event.op},
                                      {"kernel", event.kernel},
                                      {"inputs", absl::StrJoin(event.inputs, " ")},
                                      {"live_bytes", event.live_bytes}}}});
  }
  return Annotate(
      files::WriteFile(path,
                       trace.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"),
      "the profile:");
}

}  // namespace onward
