#include "serving/http/reply_batch.h"

#include <utility>

namespace onward::serving {
namespace {

thread_local ReplyBatch* current = nullptr;

}  // namespace

ReplyBatch::ReplyBatch() : outer_(std::exchange(current, this)) {}

ReplyBatch::~ReplyBatch() {
  current = outer_;
  if (mail_ != nullptr) mail_->Announce();
}

bool ReplyBatch::Announces(Announcer& mail) {
  if (current == nullptr || (current->mail_ != nullptr && current->mail_ != &mail)) return false;
  current->mail_ = &mail;
  return true;
}

}  // namespace onward::serving
