// An emulated CUDA device: what the provider's own sources, compiled by the host's compiler, run on
// in tests. Its memory cannot be read by host code, its streams run as late as the contract allows,
// and any of its calls can be made to fail.
#pragma once

#include <driver_types.h>

#include <cstdint>
#include <map>
#include <string>

namespace onward::emulated_cuda {

// The time when work on a stream is done, and the order in which threads run.
enum class Order {
  kEager,   // at once; blocks, warps and threads in the order of their numbers
  kLate,    // not before somebody must wait for it; in the opposite order, a warp as far as it gets
  kRandom,  // in any order that the contract allows, drawn by a seed
};

struct Settings {
  Order order = Order::kEager;
  uint64_t seed = 1;
  int64_t memory = int64_t{8} << 30;  // bytes of the device
  int devices = 1;
  // The call of that name that fails, "cudaMalloc", counted from 1; 0: none.
  std::string fail_call = {};
  int64_t fail_at = 0;
  cudaError_t fail_with = cudaErrorMemoryAllocation;
};

// Calls since the last Configure, by what they do.
struct Counters {
  int64_t launches = 0;                    // kernels that ran
  int64_t graphs = 0, graph_launches = 0;  // made, and put on a stream
  int64_t copies_to_device = 0, copies_to_host = 0;
  int64_t synchronizations = 0;
  int64_t allocations = 0, frees = 0;
  int64_t heuristics = 0, descriptors = 0;  // of cuBLASLt and cuDNN
  int64_t products = 0;                     // of cuBLASLt
  int64_t convolutions = 0;                 // of cuDNN
  int64_t compilations = 0;                 // by NVRTC
  int64_t attentions = 0;                   // of cuDNN
  int64_t bytes = 0, peak_bytes = 0;        // of the device's memory, not reset
};

// Waits for the device. The environment variable ONWARD_EMULATED_CUDA, "order=late,seed=7,
// memory=1073741824,devices=0,fail=cudaMalloc:3:2", says what holds at the process's start. An
// unknown setting ends the process.
void Configure(const Settings& settings);
Counters Counted();
void ResetCounters();

// A fault of device code, of which a real device would not tell as much: ends the process.
[[noreturn]] void Fault(const std::string& message);

}  // namespace onward::emulated_cuda
