// Numbers that a process counts while it works: how often, how many, how long. Written by sessions
// and trainings that are given them, read by whoever shows them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace onward {

// Thread-safe, without locks.
class Counter {
 public:
  void Add(int64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Thread-safe.
class Counters {
 public:
  // The counter of that name, which begins at 0; it lives as long as the counters do.
  Counter& Named(std::string_view name);
  // All of them as they stand.
  std::map<std::string, int64_t> Read() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Counter, std::less<>> counters_;
};

}  // namespace onward
