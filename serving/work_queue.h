// Threads that compute, and the requests that wait for them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace onward::serving {

// Thread-safe.
class WorkQueue {
 public:
  // `most`: how many may wait while all threads work.
  WorkQueue(int threads, size_t most);
  ~WorkQueue();  // after what waits is done

  // False: too many wait already; `work` is not called.
  bool Submit(std::function<void()> work);

 private:
  void Work();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  size_t idle_;  // threads without work
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace onward::serving
