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

// Takes the longest unused blocks out as long as `drops` says so of the next. With mutex_ held.
template <typename Drops>
std::vector<OutputBlocks::Block> OutputBlocks::DropWhile(Drops&& drops) {
  auto end = kept_.begin();
  for (; end != kept_.end() && drops(*end); ++end) kept_bytes_ -= end->bytes;
  std::vector<Block> dropped(std::make_move_iterator(kept_.begin()), std::make_move_iterator(end));
  kept_.erase(kept_.begin(), end);
  return dropped;
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
  freed = DropWhile([this](const Block&) { return kept_bytes_ + lent_bytes_ > most_lent_bytes_; });
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
  freed = DropWhile([&](const Block& block) { return block.since < unused_since; });
}

}  // namespace onward::executors
