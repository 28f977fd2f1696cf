#include "tests/emulated_cuda/state.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace onward::emulated_cuda {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

// Of ONWARD_EMULATED_CUDA; see Configure.
Settings SettingsOf(const std::string& text) {
  Settings settings;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (name == "order" && (value == "eager" || value == "late" || value == "random")) {
      settings.order = value == "eager"  ? Order::kEager
                       : value == "late" ? Order::kLate
                                         : Order::kRandom;
    } else if (name == "seed") {
      settings.seed = std::stoull(value);
    } else if (name == "memory") {
      settings.memory = std::stoll(value);
    } else if (name == "devices") {
      settings.devices = std::stoi(value);
    } else if (name == "fail") {
      std::istringstream failure(value);
      char colon = 0;
      int code = cudaErrorMemoryAllocation;
      std::getline(failure, settings.fail_call, ':');
      failure >> settings.fail_at >> colon >> code;
      settings.fail_with = static_cast<cudaError_t>(code);
    } else {
      Fault("ONWARD_EMULATED_CUDA has '" + part + "', which is not a setting");
    }
  }
  return settings;
}

}  // namespace

State& GetState() {
  // Never destroyed: streams may be destroyed after the program's own objects.
  static State* const state = [] {
    auto* made = new State;
    const char* text = std::getenv("ONWARD_EMULATED_CUDA");
    if (text != nullptr && *text != '\0') made->settings = SettingsOf(text);
    made->random.seed(made->settings.seed);
    return made;
  }();
  return *state;
}

void Configure(const Settings& settings) {
  State& state = GetState();
  const std::lock_guard lock(state.mutex);
  FinishAll();
  state.settings = settings;
  state.random.seed(settings.seed);
  state.calls.clear();
  ResetCounters();
}

Counters Counted() {
  State& state = GetState();
  const std::lock_guard lock(state.mutex);
  return state.counters;
}

void ResetCounters() {
  State& state = GetState();
  const std::lock_guard lock(state.mutex);
  const Counters before = state.counters;
  state.counters = {};
  state.counters.bytes = state.counters.peak_bytes = before.bytes;
}

void Fault(const std::string& message) {
  std::fprintf(stderr, "emulated device: %s\n", message.c_str());
  std::abort();
}

Entry::Entry(const char* call) : lock_(GetState().mutex) {
  State& state = GetState();
  if (state.settings.fail_at > 0 && state.settings.fail_call == call &&
      ++state.calls[call] == state.settings.fail_at) {
    error_ = Remember(state.settings.fail_with);
    return;
  }
  if (state.settings.order == Order::kRandom) RunSomeAtRandom();
}

cudaError_t Remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t LastError(bool forget) {
  const cudaError_t error = last_error;
  if (forget) last_error = cudaSuccess;
  return error;
}

}  // namespace onward::emulated_cuda
