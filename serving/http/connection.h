// One client's connection: reads a request, has it handled, writes the reply, and so on. Of the
// network's thread.
#pragma once

#include "serving/http/stream.h"
//
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "serving/http/body_buffer.h"
#include "serving/http/http_handler.h"
#include "serving/http/reply_mail.h"

namespace onward::serving {

class Connection;
struct ConnectionParser;

// State that connections share; all but `mail` and `open` is of the network's thread.
struct Connections {
  explicit Connections(boost::asio::io_context& context) : context(context), mail(context) {}

  boost::asio::io_context& context;
  HttpLimits limits;
  HttpHandler handler;
  std::set<std::shared_ptr<Connection>> all;
  std::map<std::string, int> by_address;
  size_t bodies = 0;       // bytes of those that are being read
  size_t under_way = 0;    // requests that are handled and not yet answered
  bool draining = false;   // connections end with their next reply
  bool closing = false;    // requests are not taken any more
  bool turn_ends = false;  // HttpHandler::end_turn is about to be called
  // Bytes that clients send behind a refusal, which nobody reads.
  std::array<char, 64 << 10> thrown_away;
  ReplyMail mail;
  std::mutex mutex;
  std::condition_variable changed;
  size_t open = 0;  // guarded by mutex
};

// Handlers of asynchronous calls keep the connection alive.
class Connection : public ReplyReceiver, public std::enable_shared_from_this<Connection> {
 public:
  static constexpr auto kNever = std::chrono::steady_clock::time_point::max();

  // `tls` null: bytes as they are. `client`: its address; `place`: where it is counted.
  Connection(Stream::Socket socket, boost::asio::ssl::context* tls, std::string client,
             std::string place, Connections& shared);
  ~Connection() override;

  void Begin();
  // The end of the time in which the next request has to come; kNever while one is read or handled.
  std::chrono::steady_clock::time_point IdleUntil() const;
  // Closes the connection where it is idle.
  void CloseIfIdle();
  // Notices a client that leaves where nothing is read, which would tell.
  void CheckClient();
  // Returns whether what is under way has taken too long. A timer of each connection would cost
  // three calls of the system a request.
  bool IsLate(std::chrono::steady_clock::time_point now) const { return now >= deadline_; }
  void EndIfLate(std::chrono::steady_clock::time_point now);
  void Close();
  void TakeParcel() override;

 private:
  using Error = Stream::Error;
  // The event that the connection waits for.
  enum class Awaits { kRequest, kHead, kBody, kReply, kClose };

  // Wraps the continuation of an operation.
  template <typename F>
  auto Then(F&& next) {
    return [self = shared_from_this(), next = std::forward<F>(next)](Error error, size_t count) {
      self->deadline_ = kNever;
      try {
        next(error && self->timed_out_ ? Error(boost::asio::error::timed_out) : error, count);
      } catch (const std::bad_alloc&) {
        self->RefuseForMemory();
      }
    };
  }
  // The operation that is begun next fails with timed_out after so long, once CheckDeadline sees
  // it.
  void Within(std::chrono::seconds most);
  // One deadline for a whole body of which so many bytes will have come.
  void BodyWithin(size_t bytes);
  void AwaitRequest();
  // Reads heads, and continues while a reply is computed or written, so that a client that leaves
  // is noticed.
  void ReadSome();
  void Take(std::string_view arrived);
  // A read has failed, or has taken too long.
  void Fail();
  void Leave();
  // A reply could not be written; what a client was too slow to read is thrown away.
  void Break(Error error);
  void ReadHead();
  void ParseHead(size_t count);
  void TakeHead();
  bool IsRefused();
  void BeginBody();
  void ReadBody();
  void ReadLength();
  void ReadChunks();
  // Counts memory of a body, so much in all; false: there is too much of all bodies.
  bool Hold(size_t bytes);
  void Release();
  void Handle();
  void EndRequest();
  // Has the handler told once the requests that are here have been handled.
  void EndTurn();
  // From any thread.
  void Give(HttpReply reply, uint64_t number, bool head_alone);
  void Refuse(int status, std::string_view message);
  void Refuse(int status, const absl::Status& why);
  // Gives back the request's memory, then refuses it.
  void RefuseForMemory();
  void Write(HttpReply reply, bool head_alone);
  std::string HeadOf(const HttpReply& reply) const;
  // The head, and then what the pipe gives, as chunks where the client knows them.
  void WriteFrom(std::shared_ptr<BodyPipe> pipe);
  void WriteMore();
  void EndReply(Error error);
  // Closing while the client still sends would take the reply from it: what comes is read for a
  // while and thrown away.
  void Linger(Error error);
  void Discard();

  Stream stream_;
  std::chrono::steady_clock::time_point deadline_ = kNever;  // of the operation under way
  std::chrono::steady_clock::time_point body_begun_{};
  bool timed_out_ = false;
  const std::string client_address_, place_;
  Connections& shared_;
  Awaits awaits_ = Awaits::kReply;
  uint64_t request_number_ = 0;  // so that the reply to one that was given up is not sent
  int64_t discarded_ = 0;        // bytes that came to a connection that closes
  std::array<char, 4096> arrived_;
  bool reading_ = false;     // into arrived_
  std::string input_;        // read and not yet used
  size_t searched_ = 0;      // bytes of it, for the end of a head
  BodyBuffer body_;          // that has a length
  size_t held_ = 0;          // bytes of bodies that are counted
  bool under_way_ = false;   // a request is handled
  std::stop_source client_;  // of the request whose reply is due
  std::unique_ptr<ConnectionParser> parser_;
  HttpRequest request_;
  std::string head_;  // of the reply that is written
  HttpReply reply_;
  std::shared_ptr<BodyPipe> pipe_;  // of the reply that is written
  bool writes_ = false;             // a part of the pipe
  bool takes_chunks_ = true;        // the client: it speaks HTTP/1.1
  bool keep_alive_ = false;
};

}  // namespace onward::serving
