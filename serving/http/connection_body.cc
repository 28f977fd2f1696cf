// Reads the bodies of requests.
#include "serving/http/connection.h"
//
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "serving/http/connection_parser.h"

namespace onward::serving {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr char kNoRoom[] = "the server is overloaded: too many bytes of bodies arrive already";

}  // namespace

void Connection::BodyWithin(size_t bytes) {
  timed_out_ = false;
  const auto parts = static_cast<int64_t>(1 + bytes / BodyBuffer::kPart);
  deadline_ = body_begun_ + shared_.limits.transfer_deadline * parts;
}

void Connection::BeginBody() {
  awaits_ = Awaits::kBody;
  body_begun_ = std::chrono::steady_clock::now();
  if (parser_->chunked()) {
    parser_->on_chunk_header(parser_->count);
  } else {
    const auto length = static_cast<size_t>(*parser_->content_length());
    body_.Begin(length, shared_.handler.split ? shared_.handler.split(request_, length) : length);
  }
  ReadBody();
}

void Connection::ReadBody() { return parser_->chunked() ? ReadChunks() : ReadLength(); }

void Connection::ReadLength() {
  absl::Span<char> room;
  while (!body_.is_whole()) {
    if (!Hold(body_.WillHold())) return Refuse(503, kNoRoom);
    room = body_.Room();
    if (input_.empty()) break;
    const size_t there = std::min(room.size(), input_.size());
    std::copy_n(input_.data(), there, room.data());
    input_.erase(0, there);
    body_.Added(there);
  }
  if (body_.is_whole()) {
    body_.MoveTo(request_);
    return Handle();
  }
  BodyWithin(body_.have() + room.size() - 1);
  if (reading_) return;  // Take resumes
  asio::async_read(stream_, asio::buffer(room.data(), room.size()),
                   Then([this](Error error, size_t count) {
                     if (error == asio::error::timed_out)
                       return Refuse(408, "the body did not come in time");
                     if (error) return Close();
                     body_.Added(count);
                     ReadLength();
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
  if (parser_->count.chunks > shared_.limits.chunks)
    return Refuse(413, "the body has more chunks than the server takes");
  const size_t bytes = parser_->get().body().size();
  if (!Hold(bytes)) return Refuse(503, kNoRoom);
  if (parser_->is_done()) {
    request_.body = std::move(parser_->get().body());
    return Handle();
  }
  BodyWithin(bytes);
  if (reading_) return;  // Take resumes
  constexpr size_t kRead = 64 << 10;
  const size_t have = input_.size();
  input_.resize(have + kRead);
  stream_.async_read_some(asio::buffer(input_.data() + have, kRead),
                          Then([this, have](Error failed, size_t count) {
                            input_.resize(have + (failed ? 0 : count));
                            if (failed == asio::error::timed_out)
                              return Refuse(408, "the body did not come in time");
                            if (failed) return Close();
                            ReadChunks();
                          }));
}

bool Connection::Hold(size_t bytes) {
  if (bytes <= held_) return true;
  const size_t others = shared_.bodies - held_;
  // One alone is taken, whatever its size.
  if (others > 0 && others + bytes > shared_.limits.bodies_bytes) return false;
  shared_.bodies += bytes - held_;
  held_ = bytes;
  return true;
}

void Connection::Release() {
  if (held_ > 0) body_ = BodyBuffer();
  shared_.bodies -= std::exchange(held_, 0);
  parser_.reset();
}

}  // namespace onward::serving
