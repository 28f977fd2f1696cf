// An allocator for containers whose memory counts as that of tensors does.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "absl/status/statusor.h"
#include "onward/memory_limit.h"

namespace onward {

// Counts a container's memory against the limit in force then (see MemoryScope), until the
// container gives it back, in whichever thread. Throws OutOfMemory. Containers may exchange memory.
template <typename T>
struct CountedAllocator {
  using value_type = T;

  CountedAllocator() = default;
  template <typename Other>
  CountedAllocator(const CountedAllocator<Other>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(size_t count) {
    if (count > (size_t{1} << 60) / sizeof(T)) throw std::bad_array_new_length();
    absl::StatusOr<std::shared_ptr<void>> memory =
        AllocateMemory(static_cast<int64_t>(kHeader + count * sizeof(T)));
    if (!memory.ok()) throw OutOfMemory(std::string(memory.status().message()));
    auto* begin = static_cast<std::byte*>(memory->get());
    new (begin) std::shared_ptr<void>(*std::move(memory));
    return reinterpret_cast<T*>(begin + kHeader);
  }
  void deallocate(T* data, size_t) {
    auto* owner =
        reinterpret_cast<std::shared_ptr<void>*>(reinterpret_cast<std::byte*>(data) - kHeader);
    // The memory that holds the owner goes with it.
    const std::shared_ptr<void> last = std::move(*owner);
    owner->~shared_ptr();
  }

  template <typename Other>
  bool operator==(const CountedAllocator<Other>&) const {
    return true;
  }

 private:
  static constexpr size_t kHeader = 64;
  static_assert(sizeof(std::shared_ptr<void>) <= kHeader && alignof(T) <= kHeader);
};

}  // namespace onward
