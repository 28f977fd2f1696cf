// Replies that one thread gives at once.
#pragma once

namespace onward::serving {

// Tells a thread of replies that are here for it.
class Announcer {
 public:
  virtual ~Announcer() = default;
  virtual void Announce() = 0;
};

// Replies that a thread gives while it has one of these reach the network's thread together, at the
// latest when it goes: to wake that thread costs more than a small reply.
class ReplyBatch {
 public:
  ReplyBatch();
  ~ReplyBatch();
  ReplyBatch(const ReplyBatch&) = delete;
  ReplyBatch& operator=(const ReplyBatch&) = delete;

  // Returns whether `mail` will be announced at the end of this thread's batch; else it has none.
  static bool Announces(Announcer& mail);

 private:
  ReplyBatch* const outer_;
  Announcer* mail_ = nullptr;
};

}  // namespace onward::serving
