// Replies that one thread gives at once.
#pragma once

namespace onward::serving {

class ReplyMail;

// Replies that a thread gives while it has one of these reach the network's thread together, at the
// latest when it goes: to wake that thread costs more than a small reply.
class ReplyBatch {
 public:
  ReplyBatch();
  ~ReplyBatch();
  ReplyBatch(const ReplyBatch&) = delete;
  ReplyBatch& operator=(const ReplyBatch&) = delete;

  // Returns whether the mail will be announced at the end of this thread's batch; else it has none.
  static bool Announces(ReplyMail& mail);

 private:
  ReplyBatch* const outer_;
  ReplyMail* mail_ = nullptr;
};

}  // namespace onward::serving
