#include "serving/scheduling/thread_gain.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

namespace onward::serving {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLong = 0.2;    // seconds
constexpr double kWorth = 0.75;  // of the time in one thread

// Zeros, 1 for dims that vary.
absl::StatusOr<Session::Inputs> ZeroInputs(const Session& session) {
  Session::Inputs inputs;
  for (const ValueInfo& input : session.inputs()) {
    if (input.optional) continue;
    Dims dims;
    if (input.type.shape)
      for (const Dim& dim : *input.type.shape) dims.push_back(dim.known() ? dim.value() : 1);
    absl::StatusOr<Tensor> tensor = Tensor::Create(input.type.dtype, dims);
    if (!tensor.ok()) return tensor.status();
    if (tensor->dtype() != DType::kString && tensor->num_elements() > 0)
      std::memset(tensor->raw_mutable_data(), 0, static_cast<size_t>(tensor->byte_size()));
    inputs[input.name] = Value(*std::move(tensor));
  }
  return inputs;
}

// Seconds; nothing: it failed.
std::optional<double> TimeRun(Session& session, const Session::Inputs& inputs,
                              RunPriority priority) {
  const Clock::time_point begin = Clock::now();
  if (!session.Run(inputs, {.priority = priority}).ok()) return std::nullopt;
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

bool GainsByThreads(Session& session) {
  const auto inputs = ZeroInputs(session);
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
