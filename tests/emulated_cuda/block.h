// The threads of one block: fibers, which run until they wait for each other.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/emulated_cuda/device.h"
#include "tests/emulated_cuda/fiber.h"

namespace onward::emulated_cuda {

class Block {
 public:
  // `thread` runs once for each of the block's threads. Faults where threads wait for each other
  // for ever, and where one ends before a barrier that others wait at.
  Block(dim3 size, const std::function<void()>& thread);
  void Run();

  // --- for the thread that runs
  int lane() const { return current_ % kWarp; }
  void WaitForBlock();
  void WaitForWarp(unsigned mask);
  void SetValue(uint64_t value) { threads_[static_cast<size_t>(current_)].value = value; }
  // The value that the lane of the thread's warp has set; Faults where the warp lacks that lane.
  uint64_t ValueOf(int lane) const;
  bool HasLane(int lane) const;

 private:
  static constexpr int kWarp = 32;
  enum class Waits : uint8_t { kNo, kForBlock, kForWarp, kDone };

  struct Thread {
    Fiber rest;  // where it waits
    uint3 index = {};
    Waits waits = Waits::kNo;
    unsigned mask = 0;     // of lanes that it waits for
    int64_t barriers = 0;  // of the block that it came to
    uint64_t value = 0;
  };

  std::vector<int> Shuffled(int first, int end) const;  // in the order of the settings
  void StartAll();
  void Suspend();
  bool ResumeWarps();
  // Lanes all of whose partners have come.
  unsigned ReadyLanes(int warp) const;
  void Resume(int thread);
  void ReleaseBarrier();
  void CheckEnds() const;

  const std::function<void()>& thread_;
  std::vector<Thread> threads_;
  std::vector<int> start_;  // threads that have not begun are those from next_ on
  size_t next_ = 0;
  int warps_;
  int current_ = -1;
  int last_warp_ = -1;  // that ran, in late order
};

}  // namespace onward::emulated_cuda
