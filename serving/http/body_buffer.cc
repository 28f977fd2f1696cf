#include "serving/http/body_buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace onward::serving {
namespace {

constexpr size_t kAlignment = 64;  // of a cache line, as tensors have it

std::shared_ptr<char> NewBytes(size_t size) {
  const size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  char* const bytes = static_cast<char*>(std::aligned_alloc(kAlignment, rounded));
  if (bytes == nullptr) throw std::bad_alloc();
  return {bytes, [](char* each) { std::free(each); }};
}

}  // namespace

void BodyBuffer::Begin(size_t length, size_t text) {
  *this = BodyBuffer();
  length_ = length;
  text_length_ = std::min(length, text);
}

size_t BodyBuffer::GrownFrom(size_t room, size_t most) const {
  return std::min(most, room + std::max(kPart, room));
}

size_t BodyBuffer::WillHold() const {
  if (in_text()) {
    const bool grows = have_ == text_.size();
    return tail_room_ + (grows ? GrownFrom(text_.size(), text_length_) : text_.size());
  }
  const bool grows = have_ - text_length_ == tail_room_;
  return text_.size() + (grows ? GrownFrom(tail_room_, length_ - text_length_) : tail_room_);
}

absl::Span<char> BodyBuffer::Room() {
  if (in_text()) {
    if (have_ == text_.size()) text_.resize(GrownFrom(text_.size(), text_length_));
    return absl::MakeSpan(text_.data() + have_, text_.size() - have_);
  }
  const size_t there = have_ - text_length_;
  if (there == tail_room_) {
    const size_t room = GrownFrom(tail_room_, length_ - text_length_);
    std::shared_ptr<char> grown = NewBytes(room);
    if (there > 0) std::memcpy(grown.get(), tail_.get(), there);
    tail_ = std::move(grown);
    tail_room_ = room;
  }
  return absl::MakeSpan(tail_.get() + there, tail_room_ - there);
}

void BodyBuffer::MoveTo(HttpRequest& request) {
  request.body = std::move(text_);
  request.tail = {{tail_.get(), tail_room_}, std::move(tail_)};
  *this = BodyBuffer();
}

}  // namespace onward::serving
