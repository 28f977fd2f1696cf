#include "serving/repository/load_queue.h"

#include <exception>
#include <new>
#include <utility>

namespace onward::serving {

bool LoadQueue::Submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_ || waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back(std::move(task));
    try {
      if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
    } catch (const std::exception&) {  // no memory, or no thread
      waiting_.pop_back();
      return false;
    }
  }
  changed_.notify_one();
  return true;
}

void LoadQueue::End() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool LoadQueue::ends() const {
  const std::lock_guard lock(mutex_);
  return ends_;
}

void LoadQueue::Work() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      task();
    } catch (const std::bad_alloc&) {  // tasks say so themselves, where they can
    }
  }
}

}  // namespace onward::serving
