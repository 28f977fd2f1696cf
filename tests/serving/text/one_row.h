// A generator of one row, which a text keeps for at least kTime, and until the test lets it end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "onward/generation/batch_generator.h"

namespace onward::serving {

class OneRow : public generation::BatchGenerator {
 public:
  static constexpr std::chrono::milliseconds kTime{50};

  absl::Status Add(generation::TextRequest request) override {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(request));
    return absl::OkStatus();
  }
  bool Step(RunPriority) override {
    std::unique_lock lock(mutex_);
    if (waiting_.empty()) return false;
    running_ = 1;
    const generation::TextRequest text = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    lock.unlock();
    if (text.on_begin) text.on_begin();
    std::this_thread::sleep_for(kTime);
    lock.lock();
    changed_.wait(lock, [&] { return may_end_ > 0; });
    --may_end_;
    running_ = 0;
    lock.unlock();
    text.on_end(text.stop.stop_requested()
                    ? absl::StatusOr<generation::Finish>(absl::CancelledError("left"))
                    : generation::Finish::kStop);
    return true;
  }
  size_t rows() const override { return 1; }
  size_t waiting() const override {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  size_t running() const override {
    const std::lock_guard lock(mutex_);
    return running_;
  }
  Session& session() override { std::abort(); }

  void LetEnd(size_t texts) {
    const std::lock_guard lock(mutex_);
    may_end_ += texts;
    changed_.notify_all();
  }
  void AwaitRunning() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ == 1; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<generation::TextRequest> waiting_;
  size_t running_ = 0, may_end_ = 0;
};

}  // namespace onward::serving
