#include "executors/output_blocks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "onward/memory_limit.h"
#include "onward/status.h"

namespace onward::executors {

absl::StatusOr<std::shared_ptr<void>> OutputBlocks::Take(int64_t bytes) {
  Block block = Find(bytes);
  if (block.memory == nullptr) {
    block.bytes = bytes;
    absl::StatusOr<std::shared_ptr<void>> memory = AllocateMemory(bytes);
    if (!memory.ok()) {
      const std::lock_guard lock(mutex_);
      lent_bytes_ -= bytes;
      return memory.status();
    }
    block.memory = *std::move(memory);
  }
  void* data = block.memory.get();
  return std::shared_ptr<void>(
      data, [blocks = weak_from_this(), block = std::move(block)](void*) mutable {
        if (const auto alive = blocks.lock()) alive->Return(std::move(block));
      });
}

// The kept block of these bytes that was used last; else one without memory, for which there is
// room. Either is lent.
OutputBlocks::Block OutputBlocks::Find(int64_t bytes) {
  std::vector<Block> freed;  // outside the lock
  const std::lock_guard lock(mutex_);
  lent_bytes_ += bytes;
  most_lent_bytes_ = std::max(most_lent_bytes_, lent_bytes_);
  const auto found = std::find_if(kept_.rbegin(), kept_.rend(),
                                  [&](const Block& block) { return block.bytes == bytes; });
  if (found != kept_.rend()) {
    Block block = std::move(*found);
    kept_.erase(std::next(found).base());
    kept_bytes_ -= bytes;
    return block;
  }
  auto end = kept_.begin();
  for (; end != kept_.end() && kept_bytes_ + lent_bytes_ > most_lent_bytes_; ++end)
    kept_bytes_ -= end->bytes;
  std::move(kept_.begin(), end, std::back_inserter(freed));
  kept_.erase(kept_.begin(), end);
  return {};
}

void OutputBlocks::Return(Block block) {
  block.since = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  lent_bytes_ -= block.bytes;
  kept_bytes_ += block.bytes;
  kept_.push_back(std::move(block));
}

void OutputBlocks::Release(Time unused_since) {
  std::vector<Block> freed;  // outside the lock
  const std::lock_guard lock(mutex_);
  const auto end = std::find_if(kept_.begin(), kept_.end(),
                                [&](const Block& block) { return block.since >= unused_since; });
  for (auto block = kept_.begin(); block != end; ++block) kept_bytes_ -= block->bytes;
  std::move(kept_.begin(), end, std::back_inserter(freed));
  kept_.erase(kept_.begin(), end);
}

}  // namespace onward::executors
