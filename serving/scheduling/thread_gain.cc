#include "serving/scheduling/thread_gain.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "serving/example_inputs.h"

namespace onward::serving {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLong = 0.2;    // seconds
constexpr double kWorth = 0.75;  // of the time in one thread

// Seconds; nothing: it failed.
std::optional<double> TimeRun(Session& session, const Session::Inputs& inputs,
                              RunPriority priority) {
  const Clock::time_point begin = Clock::now();
  if (!session.Run(inputs, {.priority = priority}).ok()) return std::nullopt;
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

bool GainsByThreads(Session& session, int64_t example_size) {
  const auto inputs = ExampleInputs(session, example_size);
  if (!inputs.ok()) return true;
  double alone = 1e9, together = 1e9;
  for (int round = 0; round < 4; ++round) {
    const auto one = TimeRun(session, *inputs, RunPriority::kBackground);
    if (!one || *one > kLong) return true;
    const auto all = TimeRun(session, *inputs, RunPriority::kNormal);
    if (!all) return true;
    alone = std::min(alone, *one);
    together = std::min(together, *all);
  }
  return together < kWorth * alone;
}

}  // namespace onward::serving
