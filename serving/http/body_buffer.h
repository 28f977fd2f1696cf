// The body of a request while it is read.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "serving/http/message.h"

namespace onward::serving {

// Takes no more memory than has come, and as much again or one part more.
class BodyBuffer {
 public:
  static constexpr size_t kPart = 1 << 20;

  // `length` bytes will come; those behind the first `text` become the request's tail.
  void Begin(size_t length, size_t text);
  bool is_whole() const { return have_ == length_; }
  size_t have() const { return have_; }
  // The memory that it has, and what it will have once there is room for more.
  size_t held() const { return text_.size() + tail_room_; }
  size_t WillHold() const;

  // The room for the next bytes; not empty before the body is whole.
  absl::Span<char> Room();
  void Added(size_t count) { have_ += count; }
  void MoveTo(HttpRequest& request);

 private:
  bool in_text() const { return have_ < text_length_; }
  size_t GrownFrom(size_t room, size_t most) const;

  size_t length_ = 0, text_length_ = 0, have_ = 0;
  std::string text_;
  std::shared_ptr<char> tail_;  // not initialised
  size_t tail_room_ = 0;
};

}  // namespace onward::serving
