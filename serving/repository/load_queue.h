// The thread that loads and unloads models, one after the other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace onward::serving {

// Thread-safe. The thread begins with the first task.
class LoadQueue {
 public:
  ~LoadQueue() { End(); }

  // Returns false, and does not call `task`, if too many tasks wait already, there is no thread for
  // them, or the queue has ended.
  bool Submit(std::function<void()> task);
  // Returns when the tasks that wait are done, which can see that it is called by ends().
  void End();
  bool ends() const;

 private:
  static constexpr size_t kMostWaiting = 1000;

  void Work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace onward::serving
