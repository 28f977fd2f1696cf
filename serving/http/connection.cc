#include "serving/http/connection.h"

#include <algorithm>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "serving/http/framing.h"

namespace onward::serving {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr size_t kPart = 1 << 20;     // of a body, that has a deadline of its own
constexpr int64_t kLarge = 64 << 10;  // a body that is looked at before it is read
// What a client may still send after a refusal, and for how long.
constexpr int64_t kLeastDiscarded = 64 << 20;
constexpr std::chrono::seconds kLingers(5);

std::string_view ReasonOf(int status) {
  return std::string_view(http::obsolete_reason(static_cast<http::status>(status)).data(),
                          http::obsolete_reason(static_cast<http::status>(status)).size());
}

HttpReply Refusal(int status, std::string_view message) {
  HttpReply reply{.status = status};
  // Messages of this layer have nothing that JSON escapes but quotes of one kind.
  std::string text(message);
  std::replace(text.begin(), text.end(), '"', '\'');
  std::replace(text.begin(), text.end(), '\\', '/');
  reply.body = absl::StrCat("{\"error\":\"", text, "\"}");
  return reply;
}

}  // namespace

struct Connection::Parser : http::request_parser<http::string_body> {};

Connection::Connection(Stream::Socket socket, asio::ssl::context* tls, std::string client,
                       Connections& shared)
    : stream_(std::move(socket), tls), client_address_(std::move(client)), shared_(shared) {}

Connection::~Connection() = default;

void Connection::Begin() {
  if (!stream_.is_encrypted()) return AwaitRequest();
  Within(shared_.limits.head_deadline);
  stream_.Handshake([self = shared_from_this()](Error error) {
    self->deadline_ = kNever;
    return error ? self->Close() : self->AwaitRequest();
  });
}

void Connection::CloseIfIdle() {
  if (awaits_ == Awaits::kRequest) Close();
}

void Connection::Close() {
  stream_.Close();
  deadline_ = kNever;
  if (pipe_ != nullptr) std::exchange(pipe_, nullptr)->Close();
  if (shared_.all.erase(shared_from_this()) == 0) return;
  const std::lock_guard lock(shared_.mutex);
  shared_.open = shared_.all.size();
  shared_.changed.notify_all();
}

void Connection::Within(std::chrono::seconds most) {
  timed_out_ = false;
  deadline_ = std::chrono::steady_clock::now() + most;
}

void Connection::CheckDeadline(std::chrono::steady_clock::time_point now) {
  if (now < deadline_) return;
  deadline_ = kNever;
  timed_out_ = true;
  stream_.Cancel();
}

void Connection::AwaitRequest() {
  if (shared_.draining) return Close();
  if (!input_.empty()) return ReadHead();  // pipelined
  awaits_ = Awaits::kRequest;
  Within(shared_.limits.idle_deadline);
  if (!reading_) ReadSome();
}

void Connection::ReadSome() {
  reading_ = true;
  stream_.async_read_some(asio::buffer(arrived_),
                          [self = shared_from_this()](Error error, size_t count) {
                            self->reading_ = false;
                            if (error) return self->Leave();
                            try {
                              self->Take({self->arrived_.data(), count});
                            } catch (const std::bad_alloc&) {
                              self->Leave();
                            }
                          });
}

void Connection::Take(std::string_view arrived) {
  if (awaits_ == Awaits::kClose) return Discard();
  input_ += arrived;
  if (awaits_ == Awaits::kReply) return;  // pipelined: read once the reply is written
  awaits_ = Awaits::kReply;
  deadline_ = kNever;
  ReadHead();
}

void Connection::Leave() {
  ++request_number_;  // nobody reads the reply
  client_.request_stop();
  Close();
}

void Connection::ReadHead() {
  Within(shared_.limits.head_deadline);
  asio::async_read_until(stream_, asio::dynamic_buffer(input_, shared_.limits.head_bytes),
                         "\r\n\r\n", Then([this](Error error, size_t count) {
                           const size_t line = std::min(input_.find("\r\n"), input_.size());
                           if (line > shared_.limits.line_bytes)
                             return Refuse(414, "the request line is longer than the server takes");
                           if (error == asio::error::not_found)
                             return Refuse(431, "the header is longer than the server takes");
                           if (error == asio::error::timed_out)
                             return Refuse(408, "the header did not come in time");
                           if (error) return Close();
                           ParseHead(count);
                         }));
}

void Connection::ParseHead(size_t count) {
  const std::string_view head(input_.data(), count);
  if (const absl::Status status = CheckHead(head); !status.ok()) return Refuse(400, status);
  parser_ = std::make_unique<Parser>();
  parser_->header_limit(static_cast<std::uint32_t>(count + 1));
  parser_->body_limit(static_cast<std::uint64_t>(shared_.limits.body_bytes));
  Error error;
  parser_->put(asio::buffer(head.data(), head.size()), error);
  input_.erase(0, count);
  if (error == http::error::body_limit)
    return Refuse(413, "the body is larger than the server takes");
  if (error && error != http::error::need_more) {
    return Refuse(400, absl::StrCat("malformed request: ", error.message()));
  }
  if (!parser_->is_header_done()) return Refuse(400, "malformed request: no header");
  TakeHead();
}

void Connection::TakeHead() {
  const auto& message = parser_->get();
  request_ = HttpRequest();
  request_.client = client_address_;
  request_.method = std::string(message.method_string());
  for (const auto& field : message) {
    request_.fields.emplace_back(absl::AsciiStrToLower(std::string(field.name_string())),
                                 std::string(field.value()));
  }
  keep_alive_ = message.keep_alive();
  takes_chunks_ = message.version() >= 11;
  if (request_.fields.size() > shared_.limits.fields)
    return Refuse(431, "the header has more fields than the server takes");
  if (const absl::Status status = CheckFields(request_.fields, static_cast<int>(message.version()));
      !status.ok())
    return Refuse(400, status);
  const absl::StatusOr<std::vector<std::string>> segments =
      SegmentsOf(std::string_view(message.target().data(), message.target().size()));
  if (!segments.ok()) return Refuse(400, segments.status());
  request_.segments = *segments;
  const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
  const std::string_view expects = FieldOf(request_.fields, "expect");
  if (!expects.empty() && absl::AsciiStrToLower(std::string(expects)) != "100-continue")
    return Refuse(417, "Expect is not 100-continue");
  if (!has_body) return Handle();
  if (IsRefused()) return;
  if (expects.empty() || !input_.empty()) return ReadBody();
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  Within(shared_.limits.transfer_deadline);
  asio::async_write(stream_, asio::buffer(kContinue),
                    Then([this](Error error, size_t) { return error ? Close() : ReadBody(); }));
}

bool Connection::IsRefused() {
  if (shared_.handler.admit == nullptr) return false;
  const bool chunked = parser_->chunked();
  const int64_t bytes = chunked ? -1 : static_cast<int64_t>(*parser_->content_length());
  if (!chunked && bytes < kLarge) return false;
  std::optional<HttpReply> refusal = shared_.handler.admit(request_, bytes);
  if (!refusal) return false;
  keep_alive_ = false;
  Write(*std::move(refusal), false);
  return true;
}

void Connection::ReadBody() {
  if (parser_->chunked()) return ReadChunks();
  const auto length = static_cast<size_t>(*parser_->content_length());
  const size_t there = std::min(length - request_.body.size(), input_.size());
  request_.body.append(input_, 0, there);
  input_.erase(0, there);
  ReadLength(length);
}

void Connection::ReadLength(size_t length) {
  const size_t have = request_.body.size();
  if (have == length) return Handle();
  const size_t part = std::min(length - have, std::max(kPart, have));
  request_.body.resize(have + part);
  Within(shared_.limits.transfer_deadline * static_cast<int64_t>((part + kPart - 1) / kPart));
  asio::async_read(stream_, asio::buffer(request_.body.data() + have, part),
                   Then([this, length](Error error, size_t) {
                     if (error == asio::error::timed_out)
                       return Refuse(408, "the body did not come in time");
                     if (error) return Close();
                     ReadLength(length);
                   }));
}

void Connection::ReadChunks() {
  Error error;
  while (!input_.empty() && !parser_->is_done()) {
    const size_t used = parser_->put(asio::buffer(input_), error);
    input_.erase(0, used);
    if (error || used == 0) break;
  }
  if (error == http::error::body_limit)
    return Refuse(413, "the body is larger than the server takes");
  if (error && error != http::error::need_more)
    return Refuse(400, absl::StrCat("malformed request: ", error.message()));
  if (parser_->is_done()) {
    request_.body = std::move(parser_->get().body());
    return Handle();
  }
  Within(shared_.limits.transfer_deadline);
  const size_t have = input_.size();
  input_.resize(have + 64 * 1024);
  stream_.async_read_some(asio::buffer(input_.data() + have, 64 * 1024),
                          Then([this, have](Error failed, size_t count) {
                            input_.resize(have + (failed ? 0 : count));
                            if (failed == asio::error::timed_out)
                              return Refuse(408, "the body did not come in time");
                            if (failed) return Close();
                            ReadChunks();
                          }));
}

void Connection::Handle() {
  parser_.reset();
  client_ = std::stop_source();
  request_.client_left = client_.get_token();
  if (input_.empty() && !reading_) ReadSome();
  const bool head_alone = request_.method == "HEAD";
  EndTurn();
  shared_.handler.handle(
      std::move(request_),
      [self = shared_from_this(), head_alone, number = ++request_number_](HttpReply reply) {
        self->Give(std::move(reply), number, head_alone);
      });
}

void Connection::EndTurn() {
  if (shared_.handler.end_turn == nullptr || shared_.turn_ends) return;
  // What is ready now comes before what is posted.
  asio::post(shared_.context, [&shared = shared_] {
    shared.turn_ends = false;
    shared.handler.end_turn();
  });
  shared_.turn_ends = true;
}

void Connection::Give(HttpReply reply, uint64_t number, bool head_alone) {
  if (!shared_.context.get_executor().running_in_this_thread()) {
    parcel_ = {std::move(reply), number, head_alone};
    return shared_.mail.Give(shared_from_this());
  }
  if (number == request_number_) Write(std::move(reply), head_alone);
}

void Connection::TakeParcel() {
  HttpReply reply = std::move(parcel_.reply);
  if (parcel_.number != request_number_) return;
  try {
    Write(std::move(reply), parcel_.head_alone);
  } catch (const std::bad_alloc&) {
    RefuseForMemory();
  }
}

void Connection::Refuse(int status, std::string_view message) {
  keep_alive_ = false;
  if (shared_.handler.refused) shared_.handler.refused(client_address_, status);
  Write(Refusal(status, message), false);
}

void Connection::Refuse(int status, const absl::Status& why) {
  Refuse(status, std::string_view(why.message().data(), why.message().size()));
}

void Connection::RefuseForMemory() {
  if (pipe_ != nullptr) return Leave();  // a reply has begun
  request_ = HttpRequest();
  parser_.reset();
  input_ = std::string();
  reply_ = HttpReply();
  ++request_number_;
  try {
    Refuse(503, "there is not enough memory for this request now");
  } catch (const std::bad_alloc&) {
    Leave();
  }
}

std::string Connection::HeadOf(const HttpReply& reply) const {
  std::string head =
      absl::StrCat("HTTP/1.1 ", reply.status, " ", std::string(ReasonOf(reply.status)),
                   "\r\nContent-Type: ", reply.content_type, "\r\n");
  if (reply.pipe == nullptr) {
    absl::StrAppend(&head, "Content-Length: ", BodySize(reply), "\r\n");
  } else if (takes_chunks_) {
    absl::StrAppend(&head, "Transfer-Encoding: chunked\r\n");
  }
  absl::StrAppend(&head, keep_alive_ ? "" : "Connection: close\r\n");
  for (const auto& [name, value] : reply.fields) absl::StrAppend(&head, name, ": ", value, "\r\n");
  return head + "\r\n";
}

void Connection::Write(HttpReply reply, bool head_alone) {
  const bool ends_by_closing = reply.pipe != nullptr && !takes_chunks_;
  keep_alive_ = keep_alive_ && !shared_.draining && !ends_by_closing;
  const size_t size = BodySize(reply);
  head_ = HeadOf(reply);
  if (reply.pipe != nullptr && !head_alone) return WriteFrom(std::move(reply.pipe));
  reply_ = head_alone ? HttpReply() : std::move(reply);
  Within(shared_.limits.transfer_deadline * static_cast<int64_t>(1 + size / kPart));
  std::vector<asio::const_buffer> parts = {asio::buffer(head_), asio::buffer(reply_.body)};
  for (const BodyPart& part : reply_.parts)
    parts.push_back(asio::buffer(part.bytes.data(), part.bytes.size()));
  asio::async_write(stream_, parts, Then([this](Error error, size_t) { EndReply(error); }));
}

void Connection::EndReply(Error error) {
  reply_ = HttpReply();
  if (error || !keep_alive_) return Linger(error);
  AwaitRequest();
}

void Connection::WriteFrom(std::shared_ptr<BodyPipe> pipe) {
  pipe_ = std::move(pipe);
  writes_ = true;
  Within(shared_.limits.transfer_deadline);
  asio::async_write(stream_, asio::buffer(head_), Then([this](Error error, size_t) {
                      writes_ = false;
                      if (error) return Leave();
                      pipe_->Open([self = weak_from_this(), executor = stream_.get_executor()] {
                        asio::post(executor, [self] {
                          const auto connection = self.lock();
                          if (connection != nullptr) connection->WriteMore();
                        });
                      });
                    }));
}

void Connection::WriteMore() {
  if (pipe_ == nullptr || writes_) return;
  BodyPipe::Part part = pipe_->Take();
  if (part.bytes.empty() && !part.is_last) return;
  reply_.body = std::move(part.bytes);
  if (takes_chunks_ && !reply_.body.empty()) {
    reply_.body = absl::StrCat(absl::Hex(reply_.body.size()), "\r\n", reply_.body, "\r\n");
  }
  if (takes_chunks_ && part.is_last) reply_.body += "0\r\n\r\n";
  writes_ = true;
  Within(shared_.limits.transfer_deadline * static_cast<int64_t>(1 + reply_.body.size() / kPart));
  asio::async_write(stream_, asio::buffer(reply_.body),
                    Then([this, is_last = part.is_last](Error error, size_t) {
                      writes_ = false;
                      if (error) return Leave();
                      if (!is_last) return WriteMore();
                      pipe_ = nullptr;
                      EndReply(error);
                    }));
}

void Connection::Linger(Error error) {
  if (error) return Close();
  stream_.EndWriting();
  Within(kLingers);
  awaits_ = Awaits::kClose;
  if (!reading_) Discard();
}

void Connection::Discard() {
  if (discarded_ > std::max(kLeastDiscarded, shared_.limits.body_bytes)) return Close();
  input_.resize(64 * 1024);
  reading_ = true;
  stream_.async_read_some(asio::buffer(input_),
                          [self = shared_from_this()](Error error, size_t count) {
                            self->reading_ = false;
                            self->discarded_ += static_cast<int64_t>(count);
                            if (error) return self->Leave();
                            self->Discard();
                          });
}

}  // namespace onward::serving
