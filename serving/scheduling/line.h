// The requests that wait for one model.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "serving/scheduling/waiting_request.h"

namespace onward::serving {

// Not thread-safe: the scheduler's lock guards it.
class Line {
 public:
  void Add(std::unique_ptr<WaitingRequest> request);
  // Puts one back that has been read, before those of lower priority and those that came later.
  void PutBack(std::unique_ptr<WaitingRequest> request);
  std::unique_ptr<WaitingRequest> Remove(uint64_t number);  // null: it is not here
  // At most `most` that are not read yet, the first ones first.
  WaitingRequests TakeUnread(size_t most);
  // The first one that is read and may run, and those that can run with it; maybe nothing. Of a
  // sequence only the first request runs at a time.
  WaitingRequests TakeBatch(std::chrono::steady_clock::time_point now);
  // Whether there is something to read or to run now.
  bool HasWork() const;

  // Read ones of the priority that wait.
  size_t CountOf(uint64_t priority) const;

  size_t size() const { return waiting_.size(); }
  size_t unread() const { return unread_; }

  double turn = 0;        // seconds that its requests have computed, for taking turns
  double cost = 0;        // seconds of a request, by the runs of late
  size_t in_hand = 0;     // requests that are read or run now
  bool in_order = false;  // its requests are read one after another: it has sequences
  int reads = 0;          // threads that read some now
  size_t instances = 0;   // runs at a time; 0: any number
  size_t running = 0;     // runs
  bool may_delay = false;

 private:
  // Puts those that have waited too long, and may go on waiting, behind all others.
  void DelayLate(std::chrono::steady_clock::time_point now);

  std::deque<std::unique_ptr<WaitingRequest>> waiting_;
  size_t unread_ = 0;
};

}  // namespace onward::serving
