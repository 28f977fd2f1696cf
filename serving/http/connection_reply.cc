// The half of connections that replies.
#include "serving/http/connection.h"
//
#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace onward::serving {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr size_t kPart = BodyBuffer::kPart;  // that has a deadline of its own
// A reply with a body of at most so many bytes is sent from one buffer.
constexpr size_t kSmall = 16 << 10;
// The bytes that a client may still send after a refusal, and the time for it.
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
  Release();
  input_ = std::string();
  reply_ = HttpReply();
  body_ = BodyBuffer();
  ++request_number_;
  try {
    Refuse(503, "there is not enough memory for this request now");
  } catch (const std::bad_alloc&) {
    Leave();
  }
}

std::string Connection::HeadOf(const HttpReply& reply) const {
  std::string head;
  head.reserve(256);
  absl::StrAppend(&head, "HTTP/1.1 ", reply.status, " ");
  head += ReasonOf(reply.status);
  head += "\r\nContent-Type: ";
  head += reply.content_type;
  head += "\r\n";
  if (reply.pipe == nullptr) {
    absl::StrAppend(&head, "Content-Length: ", BodySize(reply), "\r\n");
  } else if (takes_chunks_) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  if (!keep_alive_) head += "Connection: close\r\n";
  for (const auto& [name, value] : reply.fields) absl::StrAppend(&head, name, ": ", value, "\r\n");
  head += "\r\n";
  return head;
}

void Connection::Write(HttpReply reply, bool head_alone) {
  const bool ends_by_closing = reply.pipe != nullptr && !takes_chunks_;
  Release();
  awaits_ = Awaits::kReply;
  keep_alive_ = keep_alive_ && !shared_.draining && !ends_by_closing;
  const size_t size = BodySize(reply);
  head_ = HeadOf(reply);
  if (reply.pipe != nullptr && !head_alone) return WriteFrom(std::move(reply.pipe));
  Within(shared_.limits.transfer_deadline * static_cast<int64_t>(1 + size / kPart));
  const auto end = Then([this](Error error, size_t) { EndReply(error); });
  if (head_alone) return asio::async_write(stream_, asio::buffer(head_), end);
  if (size <= kSmall) {
    head_.reserve(head_.size() + size);
    head_ += reply.body;
    for (const BodyPart& part : reply.parts) head_ += part.bytes;
    return asio::async_write(stream_, asio::buffer(head_), end);
  }
  reply_ = std::move(reply);
  std::vector<asio::const_buffer> parts = {asio::buffer(head_), asio::buffer(reply_.body)};
  for (const BodyPart& part : reply_.parts)
    parts.push_back(asio::buffer(part.bytes.data(), part.bytes.size()));
  asio::async_write(stream_, parts, end);
}

void Connection::EndReply(Error error) {
  EndRequest();
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
                      if (error) return Break(error);
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
                      if (error) return Break(error);
                      if (!is_last) return WriteMore();
                      pipe_ = nullptr;
                      EndReply(error);
                    }));
}

void Connection::Linger(Error error) {
  if (error) return Break(error);
  stream_.EndWriting();
  Within(kLingers);
  awaits_ = Awaits::kClose;
  if (!reading_) Discard();
}

void Connection::Discard() {
  if (discarded_ > std::max(kLeastDiscarded, shared_.limits.body_bytes)) return Close();
  reading_ = true;
  stream_.async_read_some(asio::buffer(shared_.thrown_away),
                          [self = shared_from_this()](Error error, size_t count) {
                            self->reading_ = false;
                            self->discarded_ += static_cast<int64_t>(count);
                            if (error) return self->Leave();
                            self->Discard();
                          });
}

}  // namespace onward::serving
