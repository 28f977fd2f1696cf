// Memory of a provider for values whose sizes are known only while a program runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "executors/provider.h"

namespace onward::executors {

// Memory in blocks of growing size classes, given back to free lists.
class DynamicPool {
 public:
  explicit DynamicPool(const ExecutionProvider* provider) : provider_(provider) {}

  struct Block {
    std::shared_ptr<void> memory;
    int64_t bytes = 0;
    int32_t references = 0;
  };

  absl::StatusOr<Block*> Acquire(int64_t bytes);  // with one reference
  void Release(Block* block) {
    if (--block->references > 0) return;
    held_bytes_ -= block->bytes;
    free_[static_cast<size_t>(ClassOf(block->bytes))].push_back(block);
  }
  int64_t held_bytes() const { return held_bytes_; }  // of blocks that are not free

 private:
  static int ClassOf(int64_t bytes);
  const ExecutionProvider* provider_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> free_[256];
  int64_t held_bytes_ = 0;
};

}  // namespace onward::executors
