// State that all parts of the emulated device share, under one lock.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <random>
#include <string>

#include "tests/emulated_cuda/device.h"

namespace onward::emulated_cuda {

struct State {
  std::recursive_mutex mutex;
  Settings settings;
  Counters counters;
  std::mt19937_64 random;
  std::map<std::string, int64_t> calls;  // by name, since Configure
};
State& GetState();

// Each call of the runtime begins with one: the lock, a failure that was asked for, and, in random
// order, some work of the streams.
class Entry {
 public:
  explicit Entry(const char* call);
  cudaError_t error() const { return error_; }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  cudaError_t error_ = cudaSuccess;
};

// Keeps the error as the calling thread's last one and returns it.
cudaError_t Remember(cudaError_t error);
cudaError_t LastError(bool forget);

// The calling thread's device.
int CurrentDevice();

// --- memory.cc
// While one lives the device's memory can be touched: by its own work.
class MemoryOpen {
 public:
  MemoryOpen();
  MemoryOpen(const MemoryOpen&) = delete;
  MemoryOpen& operator=(const MemoryOpen&) = delete;
  ~MemoryOpen();
};
cudaError_t AllocateDevice(void** memory, size_t bytes);
cudaError_t FreeDevice(void* memory);
// Returns whether the address is one of the device's, of allocated memory or not.
bool IsDeviceAddress(const void* memory);
// Returns whether all the bytes lie in one allocation.
bool IsAllocated(const void* memory, size_t bytes);
// Faults where something wrote behind the end of an allocation.
void CheckFences(const char* after);

// --- stream.cc
cudaError_t Enqueue(cudaStream_t stream, const char* name, std::function<void()> work);
cudaError_t Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                 bool synchronous);
cudaError_t Finish(cudaStream_t stream);  // waits for what it holds
void FinishAll();
void RunSomeAtRandom();

}  // namespace onward::emulated_cuda
