// Replies on their way from the threads that make them to the network's thread.
#pragma once

#include <utility>  // which Asio needs with GCC 12
//
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "serving/http/message.h"
#include "serving/http/reply_batch.h"

namespace onward::serving {

class ReplyReceiver;

// A reply that is due. Each connection has one, so that to give a reply takes no memory.
struct Parcel {
  HttpReply reply = {};
  uint64_t number = 0;  // of the request
  bool head_alone = false;
  std::shared_ptr<ReplyReceiver> next = nullptr;  // in the mail
};

// A connection, as the mail sees it.
class ReplyReceiver {
 public:
  virtual ~ReplyReceiver() = default;
  // The reply that is due, until the network's thread has taken it.
  Parcel& parcel() { return parcel_; }
  // Runs in the network's thread.
  virtual void TakeParcel() = 0;

 protected:
  Parcel parcel_;
};

// Thread-safe.
class ReplyMail : public Announcer {
 public:
  explicit ReplyMail(boost::asio::io_context& context) : context_(context) {}
  ~ReplyMail() override;

  // `to` has the reply in its parcel. The network's thread is told at once, or at the end of the
  // thread's ReplyBatch.
  void Give(std::shared_ptr<ReplyReceiver> to);
  // Tells the network's thread of what is here; where there is too little memory for that, the
  // next Deliver finds it.
  void Announce() override;
  // Runs in the network's thread: has each connection write its reply.
  void Deliver();

 private:
  boost::asio::io_context& context_;
  std::mutex mutex_;
  std::shared_ptr<ReplyReceiver> first_;  // guarded by mutex_
  ReplyReceiver* last_ = nullptr;         // guarded by mutex_
  size_t bytes_ = 0;                      // guarded by mutex_
  bool announced_ = false;                // guarded by mutex_
};

}  // namespace onward::serving
