// Limits the memory that the tensors of one piece of work take together, so that a hostile or
// unlucky model is refused instead of exhausting the machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace onward {

// Thread-safe.
class MemoryLimit {
 public:
  explicit MemoryLimit(int64_t bytes);

  // ResourceExhausted, naming the limit, when the bytes would exceed it or the machine has not so
  // much left, less what this process was given and has not touched yet; then nothing is taken.
  // kMapped: pages of a file, which the machine can always drop. kChecked: is given back at once,
  // and no part of the peak.
  enum class Kind : uint8_t { kAllocated, kMapped, kChecked };
  absl::Status Take(int64_t bytes, Kind kind = Kind::kAllocated);
  void GiveBack(int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  // The most that was in use at a time, since the beginning or the last ResetPeak.
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  void ResetPeak() { peak_.store(used(), std::memory_order_relaxed); }

  // `release` gives back memory that is kept only to be used again. Before a Take is refused that
  // the whole limit allows, all of them are called, by the thread that takes; they must not take
  // memory themselves. Destroying the result ends that, and waits for a call under way.
  [[nodiscard]] std::shared_ptr<void> OnShortage(std::function<void()> release);

  // The limit in force in this thread; null: none.
  static const std::shared_ptr<MemoryLimit>& Current();

 private:
  struct Releases;

  absl::Status TryTake(int64_t bytes, Kind kind);
  void NotePeak(int64_t bytes);

  const int64_t limit_;
  const std::shared_ptr<Releases> releases_;
  std::atomic<int64_t> used_{0};
  std::atomic<int64_t> peak_{0};
};

// While it lives, what this thread takes with AllocateMemory counts against `limit` until it is
// freed, by whichever thread. Scopes nest; the innermost counts.
class MemoryScope {
 public:
  explicit MemoryScope(std::shared_ptr<MemoryLimit> limit);
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;
  ~MemoryScope();

 private:
  std::shared_ptr<MemoryLimit> outer_;
};

// Checks that so many bytes could be taken now. ResourceExhausted otherwise. For work that
// would be done before an allocation of that size fails.
absl::Status CheckMemory(int64_t bytes);

// An owner of `bytes` bytes that `owner` keeps, which are not allocated but count against the limit
// in force while this owner lives: of a file that is mapped. ResourceExhausted when the limit does
// not allow it.
absl::StatusOr<std::shared_ptr<void>> CountMemory(int64_t bytes, std::shared_ptr<void> owner);

// Host memory aligned to kTensorAlignment, at least one byte; freed with the last reference.
// ResourceExhausted when the limit in force or the machine does not give it.
absl::StatusOr<std::shared_ptr<void>> AllocateMemory(int64_t bytes);
// The same for an array of strings.
absl::StatusOr<std::shared_ptr<void>> AllocateStrings(int64_t count);

// Thrown where memory is taken by a constructor; Session and import turn it into ResourceExhausted.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

}  // namespace onward
