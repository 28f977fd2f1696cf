// Reads the replies of a server over HTTP/1.1, which may send anything: nothing is taken on its
// word.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "serving/http/message.h"

namespace onward::serving {

struct ServerReply {
  int status = 0;
  HttpFields fields;
  std::string body;
};

struct ReplyLimits {
  size_t head_bytes = 64 * 1024;
  int64_t body_bytes = int64_t{1} << 30;
};

// One reply after the other, of one connection: while not done(), read into Room() and Take() what
// came.
class ReplyReader {
 public:
  explicit ReplyReader(const ReplyLimits& limits);
  ~ReplyReader();

  // The reply to a request other than by HEAD. Bytes that came behind the reply before are lost;
  // the connection that sent them is not kept alive.
  void Begin();
  // The room for the bytes that come next.
  absl::Span<char> Room();
  // So many bytes have come. InvalidArgument: they are not HTTP; ResourceExhausted: they are more
  // than the limits.
  absl::Status Take(size_t count);
  // The server has closed the connection. Unavailable: before the reply's end.
  absl::Status End();

  bool done() const { return state_ == State::kDone; }
  // Returns whether the connection may carry another request, once the reply is done.
  bool keep_alive() const { return keep_alive_; }
  ServerReply TakeReply() { return std::move(reply_); }

 private:
  enum class State { kHead, kLength, kChunks, kUntilEnd, kDone };

  absl::Status TakeHead();
  absl::Status ParseHead(size_t size);
  absl::Status TakeChunks();
  absl::Status TakeUntilEnd();
  // The body's first bytes came with the head.
  absl::Status BeginBody();

  const ReplyLimits limits_;
  State state_ = State::kHead;
  bool keep_alive_ = false;
  std::string input_;  // come and not yet used, and room behind it
  size_t have_ = 0;    // of input_, or of the body
  size_t length_ = 0;  // of the body, where the head says it
  int interim_ = 0;    // replies of 1xx before the final one
  struct Parser;
  std::unique_ptr<Parser> parser_;
  ServerReply reply_;
};

}  // namespace onward::serving
