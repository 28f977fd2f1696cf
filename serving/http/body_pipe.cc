#include "serving/http/body_pipe.h"

#include <utility>

namespace onward::serving {

bool BodyPipe::Write(std::string_view bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || ended_ || waiting_.size() + bytes.size() > kMostWaiting) return false;
    waiting_ += bytes;
  }
  Wake();
  return true;
}

void BodyPipe::End() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  Wake();
}

void BodyPipe::Open(std::function<void()> wake) {
  {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }
  Wake();
}

BodyPipe::Part BodyPipe::Take() {
  const std::lock_guard lock(mutex_);
  return {std::exchange(waiting_, {}), ended_};
}

void BodyPipe::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  wake_ = nullptr;
  waiting_.clear();
}

void BodyPipe::Wake() {
  const std::lock_guard lock(mutex_);
  if (wake_ != nullptr) wake_();
}

}  // namespace onward::serving
