#include "executors/dynamic_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "onward/status.h"

namespace onward::executors {

// Four classes per power of two: at most a fifth of a block is unused.
int DynamicPool::ClassOf(int64_t bytes) {
  const auto size = static_cast<uint64_t>(std::max<int64_t>(bytes, 256));
  const int power = std::bit_width(size - 1) - 1;
  return power * 4 + static_cast<int>(((size - 1) >> (power - 2)) & 3);
}

absl::StatusOr<DynamicPool::Block*> DynamicPool::Acquire(int64_t bytes) {
  const int size_class = ClassOf(bytes);
  std::vector<Block*>& free = free_[size_class];
  if (!free.empty()) {
    Block* block = free.back();
    free.pop_back();
    held_bytes_ += block->bytes;
    block->references = 1;
    return block;
  }
  // The largest size of the class, so that any request of the class fits.
  const int power = size_class / 4;
  const int64_t capacity = (int64_t{4} + size_class % 4 + 1) << (power - 2);
  ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<void> memory, AllocateOn(*provider_, capacity));
  held_bytes_ += capacity;
  blocks_.push_back(std::make_unique<Block>(Block{std::move(memory), capacity, 1}));
  return blocks_.back().get();
}

}  // namespace onward::executors
