// Memory of outputs that callers have dropped, for the outputs of later runs: fresh memory costs a
// page fault for every few KiB of it that a run writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"

namespace onward::executors {

// Thread-safe. At a time it has no more than callers held at once, their blocks included.
class OutputBlocks : public std::enable_shared_from_this<OutputBlocks> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Host memory of at least `bytes` bytes, aligned as AllocateMemory has it; it returns with its
  // last reference, unless the blocks are gone by then. ResourceExhausted.
  absl::StatusOr<std::shared_ptr<void>> Take(int64_t bytes);
  // Frees what nobody has used since.
  void Release(Time unused_since);

 private:
  struct Block {
    std::shared_ptr<void> memory;
    int64_t bytes = 0;
    Time since;
  };

  template <typename Drops>
  std::vector<Block> DropWhile(Drops&& drops);
  Block Find(int64_t bytes);
  void Return(Block block);

  std::mutex mutex_;
  std::vector<Block> kept_;  // the longest unused first
  int64_t kept_bytes_ = 0, lent_bytes_ = 0, most_lent_bytes_ = 0;
};

}  // namespace onward::executors
