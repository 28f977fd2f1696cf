// The requests that wait for one model.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "serving/scheduling/waiting_request.h"

namespace onward::serving {

// Requests are added, read by who took them, put back, and taken as batches. Nothing of that takes
// memory, nor does the time depend on how many wait. Not thread-safe: the scheduler's lock guards
// it.
class Line {
 public:
  void Add(WaitingRequests one);
  // Puts one back that has been read, before those of lower priority and those that came later.
  void PutBack(WaitingRequests one);
  WaitingRequests Remove(uint64_t number);  // none: it is not here
  // At most `most` that are not read yet, the first ones first.
  WaitingRequests TakeUnread(size_t most);
  // `batch` gets the first one that is read and may run, and those that can run with it; maybe
  // nothing. Of a sequence only the first request runs at a time. `late` gets those in front whose
  // clients have left, who have waited longer than `max_wait` or than they may, or for which memory
  // is missing: they would be a part of a batch that does not run.
  void TakeBatch(std::chrono::steady_clock::time_point now, std::chrono::microseconds max_wait,
                 WaitingRequests& batch, WaitingRequests& late);
  // Returns whether there is something to read or to run now, or a thread that waits for its turn.
  bool HasWork() const;

  // Read ones of the priority that wait.
  size_t CountOf(uint64_t priority) const;

  size_t size() const { return unread_.size() + read_.size(); }
  size_t unread() const { return unread_.size(); }

  double turn = 0;        // seconds that its requests have computed, for taking turns
  double cost = 0;        // seconds of a request, by the runs of late
  size_t in_hand = 0;     // requests that are read or run now
  bool in_order = false;  // its requests are read one after another: it has sequences
  int reads = 0;          // threads that read some now
  size_t instances = 0;   // runs at a time; 0: any number
  size_t running = 0;     // runs
  bool may_delay = false;
  int turns = 0;  // threads that wait for one, to compute what is not a request

 private:
  // Puts those that have waited too long, and may go on waiting, behind all others.
  void DelayLate(std::chrono::steady_clock::time_point now);

  WaitingRequests unread_;  // in the order of their numbers
  WaitingRequests read_;    // in the order of PutBack
};

}  // namespace onward::serving
