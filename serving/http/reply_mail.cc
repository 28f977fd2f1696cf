#include "serving/http/reply_mail.h"

#include <boost/asio/post.hpp>
#include <new>

namespace onward::serving {
namespace {

// A batch's replies are announced once they have so many bytes: the first ones need not wait until
// the last ones are written.
constexpr size_t kMostDelayed = 64 << 10;

}  // namespace

ReplyMail::~ReplyMail() {
  while (first_ != nullptr) first_ = std::move(first_->parcel().next);
}

void ReplyMail::Give(std::shared_ptr<ReplyReceiver> to) {
  bool much = false;
  {
    const std::lock_guard lock(mutex_);
    bytes_ += BodySize(to->parcel().reply);
    much = bytes_ > kMostDelayed;
    ReplyReceiver* const last = to.get();
    (last_ == nullptr ? first_ : last_->parcel().next) = std::move(to);
    last_ = last;
  }
  if (!ReplyBatch::Announces(*this) || much) Announce();
}

void ReplyMail::Announce() {
  {
    const std::lock_guard lock(mutex_);
    if (announced_ || first_ == nullptr) return;
    announced_ = true;
  }
  try {
    boost::asio::post(context_, [this] { Deliver(); });
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    announced_ = false;
  }
}

void ReplyMail::Deliver() {
  std::shared_ptr<ReplyReceiver> next;
  {
    const std::lock_guard lock(mutex_);
    next = std::move(first_);
    last_ = nullptr;
    bytes_ = 0;
    announced_ = false;
  }
  while (next != nullptr) {
    const std::shared_ptr<ReplyReceiver> receiver = std::move(next);
    next = std::move(receiver->parcel().next);
    receiver->TakeParcel();
  }
}

}  // namespace onward::serving
