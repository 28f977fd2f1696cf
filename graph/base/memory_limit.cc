#include "onward/memory_limit.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/machine_memory.h"
#include "onward/status.h"
#include "onward/tensor.h"

namespace onward {
namespace {

// No more is given in one piece, whatever the system would promise.
int64_t LargestBlock() {
  static const int64_t bytes = std::min(MachineMemory(), int64_t{1} << 46);
  return bytes;
}

thread_local std::shared_ptr<MemoryLimit> current;

// The machine is asked once for so many bytes that it has left: less does not exhaust it.
constexpr int64_t kUnasked = int64_t{64} << 20;

absl::Status Exhausted(int64_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("out of memory: ", bytes, " bytes are needed, the machine has ", MachineMemory(),
                   ", of which ", AvailableMemory(), " are free"));
}

// Bytes of blocks from kLarge on that somebody has; what is smaller is touched soon.
constexpr int64_t kLarge = int64_t{1} << 20;
std::atomic<int64_t> promised{0};
std::mutex promising;  // held from asking the machine for kUnasked bytes or more to promising them

// The memory that the machine has left, less what was promised and not touched yet.
int64_t UnpromisedMemory() {
  const int64_t untouched = promised.load(std::memory_order_relaxed) - ResidentMemory();
  return AvailableMemory() - std::max(int64_t{0}, untouched);
}

absl::Status TakeFromCurrent(int64_t bytes,
                             MemoryLimit::Kind kind = MemoryLimit::Kind::kAllocated) {
  if (bytes < 0 || bytes > LargestBlock()) return Exhausted(bytes);
  if (current != nullptr) return current->Take(bytes, kind);
  return bytes < kUnasked || bytes <= UnpromisedMemory() ? absl::OkStatus() : Exhausted(bytes);
}

}  // namespace

struct MemoryLimit::Releases {
  std::mutex mutex;
  std::list<std::function<void()>> functions;
};

MemoryLimit::MemoryLimit(int64_t bytes) : limit_(bytes), releases_(std::make_shared<Releases>()) {}

std::shared_ptr<void> MemoryLimit::OnShortage(std::function<void()> release) {
  std::list<std::function<void()>>::iterator place;
  {
    const std::lock_guard lock(releases_->mutex);
    place = releases_->functions.insert(releases_->functions.end(), std::move(release));
  }
  // Without memory for the result this calls the function that takes `place` away.
  return {nullptr, [releases = releases_, place](void*) {
            const std::lock_guard lock(releases->mutex);
            releases->functions.erase(place);
          }};
}

absl::Status MemoryLimit::Take(int64_t bytes, Kind kind) {
  const absl::Status taken = TryTake(bytes, kind);
  if (taken.ok() || bytes > limit_) return taken;
  {
    const std::lock_guard lock(releases_->mutex);
    if (releases_->functions.empty()) return taken;
    for (const std::function<void()>& release : releases_->functions) release();
  }
  return TryTake(bytes, kind);
}

absl::Status MemoryLimit::TryTake(int64_t bytes, Kind kind) {
  const int64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  const bool within = bytes <= limit_ && before <= limit_ - bytes;
  const bool asked =
      within && kind != Kind::kMapped && before / kUnasked != (before + bytes) / kUnasked;
  if (within && (!asked || bytes <= UnpromisedMemory())) {
    if (kind != Kind::kChecked) NotePeak(before + bytes);
    return absl::OkStatus();
  }
  GiveBack(bytes);
  if (within) return Exhausted(bytes);
  return absl::ResourceExhaustedError(absl::StrCat(
      bytes, " bytes are needed and ", before, " are taken, above the limit of ", limit_,
      " bytes (smaller shapes need less; SessionOptions::max_memory or --max-memory raises it)"));
}

void MemoryLimit::NotePeak(int64_t bytes) {
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (bytes > peak && !peak_.compare_exchange_weak(peak, bytes, std::memory_order_relaxed)) {
  }
}

const std::shared_ptr<MemoryLimit>& MemoryLimit::Current() { return current; }

MemoryScope::MemoryScope(std::shared_ptr<MemoryLimit> limit)
    : outer_(std::exchange(current, std::move(limit))) {}

MemoryScope::~MemoryScope() { current = std::move(outer_); }

absl::Status CheckMemory(int64_t bytes) {
  ONWARD_RETURN_IF_ERROR(TakeFromCurrent(bytes, MemoryLimit::Kind::kChecked));
  if (current != nullptr) current->GiveBack(bytes);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<void>> CountMemory(int64_t bytes, std::shared_ptr<void> owner) {
  if (current == nullptr) return owner;
  ONWARD_RETURN_IF_ERROR(current->Take(bytes, MemoryLimit::Kind::kMapped));
  void* data = owner.get();
  return std::shared_ptr<void>(
      data, [limit = current, bytes, owner = std::move(owner)](void*) { limit->GiveBack(bytes); });
}

// Blocks that hold huge pages begin with one, and ask for them: fewer first touches, and fewer
// misses of the TLB where rows lie far apart. The rest of a block takes ordinary pages.
void* AllocatePages(int64_t bytes) {
  constexpr int64_t kHugePage = int64_t{2} << 20;
  if (bytes < 2 * kHugePage)
    return std::aligned_alloc(kTensorAlignment, static_cast<size_t>(bytes));
  // Not aligned_alloc, whose size must be a multiple of the alignment (C11 7.22.3.1).
  void* memory = nullptr;
  if (posix_memalign(&memory, kHugePage, static_cast<size_t>(bytes)) != 0) return nullptr;
#if defined(MADV_HUGEPAGE)
  madvise(memory, static_cast<size_t>(bytes / kHugePage * kHugePage), MADV_HUGEPAGE);
#endif
  return memory;
}

absl::StatusOr<std::shared_ptr<void>> AllocateMemory(int64_t bytes) {
  constexpr auto kAlign = static_cast<int64_t>(kTensorAlignment);
  if (bytes > LargestBlock()) return Exhausted(bytes);
  const int64_t rounded = std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  const int64_t large = rounded >= kLarge ? rounded : 0;
  std::unique_lock lock(promising, std::defer_lock);
  if (rounded >= kUnasked) lock.lock();
  ONWARD_RETURN_IF_ERROR(TakeFromCurrent(rounded));
  promised.fetch_add(large, std::memory_order_relaxed);
  if (lock.owns_lock()) lock.unlock();
  void* memory = AllocatePages(rounded);
  if (memory == nullptr) {
    promised.fetch_sub(large, std::memory_order_relaxed);
    if (current != nullptr) current->GiveBack(rounded);
    return Exhausted(bytes);
  }
  if (current == nullptr && large == 0) return std::shared_ptr<void>(memory, std::free);
  return std::shared_ptr<void>(memory, [limit = current, rounded, large](void* p) {
    std::free(p);
    promised.fetch_sub(large, std::memory_order_relaxed);
    if (limit != nullptr) limit->GiveBack(rounded);
  });
}

absl::StatusOr<std::shared_ptr<void>> AllocateStrings(int64_t count) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(std::string));
  if (count > LargestBlock() / kSize) {
    return absl::ResourceExhaustedError(
        absl::StrCat("out of memory: ", count, " strings are needed"));
  }
  const int64_t bytes = count * kSize;
  ONWARD_RETURN_IF_ERROR(TakeFromCurrent(bytes));
  auto* strings = new (std::nothrow) std::string[static_cast<size_t>(count)];
  if (strings == nullptr) {
    if (current != nullptr) current->GiveBack(bytes);
    return Exhausted(bytes);
  }
  return std::shared_ptr<void>(strings, [limit = current, bytes](void* p) {
    delete[] static_cast<std::string*>(p);
    if (limit != nullptr) limit->GiveBack(bytes);
  });
}

}  // namespace onward
