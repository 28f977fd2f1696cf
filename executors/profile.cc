#include "executors/profile.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "files/write_file.h"
#include "onward/status.h"

namespace onward {

void ProfileLog::Add(ProfileEvent event) {
  std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

std::vector<ProfileEvent> ProfileLog::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

std::optional<ProfileEvent> ProfileLog::Peak() const {
  std::lock_guard lock(mutex_);
  const auto peak =
      std::max_element(events_.begin(), events_.end(),
                       [](const auto& a, const auto& b) { return a.live_bytes < b.live_bytes; });
  if (peak == events_.end()) return std::nullopt;
  return *peak;
}

absl::Status ProfileLog::WriteChromeTrace(const std::string& path) const {
  nlohmann::json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", nlohmann::json::array()}};
  if (const std::optional<ProfileEvent> peak = Peak()) {
    trace["otherData"] = {{"peak_live_bytes", peak->live_bytes}, {"peak_at", peak->name}};
  }
  for (const ProfileEvent& event : events()) {
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
                                      {"kernel", std::string(event.kernel)},
                                      {"live_bytes", event.live_bytes}}}});
  }
  return Annotate(
      WriteFile(path, trace.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"),
      "the profile:");
}

void ProfileScope::Record() {
  const auto end = std::chrono::steady_clock::now();
  const Node& node = program_.graph.node(step_.node);
  ProfileEvent event;
  event.op = node.op_type;
  event.name = program_.graph.Describe(step_.node);
  event.kernel = step_.kernel_name;
  event.begin_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(begin_.time_since_epoch()).count();
  event.live_bytes = live_bytes_;
  event.duration_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin_).count();
  event.thread =
      static_cast<uint32_t>(std::hash<std::thread::id>()(std::this_thread::get_id()) % 100000);
  log_->Add(std::move(event));
}

}  // namespace onward
