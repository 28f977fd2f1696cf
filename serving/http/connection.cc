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
    : stream_(std::move(socket), tls),
      timer_(stream_.get_executor()),
      client_address_(std::move(client)),
      shared_(shared) {}

Connection::~Connection() = default;

void Connection::Begin() {
  if (!stream_.is_encrypted()) return AwaitRequest();
  Within(shared_.limits.head_deadline);
  stream_.Handshake([self = shared_from_this()](Error error) {
    ++self->turn_;
    self->timer_.cancel();
    return error ? self->Close() : self->AwaitRequest();
  });
}

void Connection::CloseIfIdle() {
  if (awaits_ == Awaits::kRequest) Close();
}

void Connection::Close() {
  stream_.Close();
  timer_.cancel();
  if (shared_.all.erase(shared_from_this()) == 0) return;
  const std::lock_guard lock(shared_.mutex);
  shared_.open = shared_.all.size();
  shared_.changed.notify_all();
}

void Connection::Within(std::chrono::seconds most) {
  timed_out_ = false;
  timer_.expires_after(most);
  timer_.async_wait([self = shared_from_this(), turn = ++turn_](Error error) {
    if (error || turn != self->turn_) return;
    self->timed_out_ = true;
    self->stream_.Cancel();
  });
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
                            self->Take({self->arrived_.data(), count});
                          });
}

void Connection::Take(std::string_view arrived) {
  if (awaits_ == Awaits::kClose) return discarded_++ == 64 ? Close() : ReadSome();
  input_ += arrived;
  if (awaits_ == Awaits::kReply) return;  // pipelined: read once the reply is written
  awaits_ = Awaits::kReply;
  ++turn_;
  timer_.cancel();
  ReadHead();
}

void Connection::Leave() {
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
  if (shared_.handler.admit == nullptr || parser_->chunked()) return false;
  const auto bytes = static_cast<int64_t>(*parser_->content_length());
  if (bytes < kLarge) return false;
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
  shared_.handler.handle(std::move(request_),
                         [self = shared_from_this(), head_alone](HttpReply reply) mutable {
                           asio::post(self->stream_.get_executor(),
                                      [self, head_alone, reply = std::move(reply)]() mutable {
                                        self->Write(std::move(reply), head_alone);
                                      });
                         });
}

void Connection::Refuse(int status, std::string_view message) {
  keep_alive_ = false;
  if (shared_.handler.refused) shared_.handler.refused(client_address_, status);
  Write(Refusal(status, message), false);
}

void Connection::Refuse(int status, const absl::Status& why) {
  Refuse(status, std::string_view(why.message().data(), why.message().size()));
}

void Connection::Write(HttpReply reply, bool head_alone) {
  keep_alive_ = keep_alive_ && !shared_.draining;
  const size_t size = BodySize(reply);
  head_ = absl::StrCat("HTTP/1.1 ", reply.status, " ", std::string(ReasonOf(reply.status)),
                       "\r\nContent-Type: ", reply.content_type, "\r\nContent-Length: ", size,
                       "\r\n", keep_alive_ ? "" : "Connection: close\r\n");
  for (const auto& [name, value] : reply.fields) absl::StrAppend(&head_, name, ": ", value, "\r\n");
  absl::StrAppend(&head_, "\r\n");
  reply_ = head_alone ? HttpReply() : std::move(reply);
  Within(shared_.limits.transfer_deadline * static_cast<int64_t>(1 + size / kPart));
  std::vector<asio::const_buffer> parts = {asio::buffer(head_), asio::buffer(reply_.body)};
  for (const BodyPart& part : reply_.parts)
    parts.push_back(asio::buffer(part.bytes.data(), part.bytes.size()));
  asio::async_write(stream_, parts, Then([this](Error error, size_t) {
                      reply_ = HttpReply();
                      if (error || !keep_alive_) return Linger(error);
                      AwaitRequest();
                    }));
}

void Connection::Linger(Error error) {
  if (error) return Close();
  stream_.EndWriting();
  Within(std::chrono::seconds(1));
  awaits_ = Awaits::kClose;
  if (!reading_) ReadSome();
}

}  // namespace onward::serving
