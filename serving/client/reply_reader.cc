#include "serving/client/reply_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <new>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

namespace http = boost::beast::http;

constexpr size_t kPart = 64 * 1024;
constexpr size_t kLargestPart = 4 << 20;
constexpr int kMostInterim = 16;

absl::Status TooLarge(int64_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the reply's body is larger than ", most, " bytes"));
}

absl::Status Malformed(const boost::system::error_code& error) {
  return absl::InvalidArgumentError(absl::StrCat("the reply is not HTTP/1.1: ", error.message()));
}

}  // namespace

struct ReplyReader::Parser : http::response_parser<http::string_body> {};

ReplyReader::ReplyReader(const ReplyLimits& limits) : limits_(limits) {}
ReplyReader::~ReplyReader() = default;

void ReplyReader::Begin() {
  state_ = State::kHead;
  keep_alive_ = false;
  have_ = length_ = 0;
  interim_ = 0;
  reply_ = ServerReply();
}

absl::Span<char> ReplyReader::Room() {
  const bool into_body = state_ == State::kLength || state_ == State::kUntilEnd;
  std::string& place = into_body ? reply_.body : input_;
  size_t part = kPart;
  // No more memory is taken than has come, and one part more.
  if (state_ == State::kLength)
    part = std::min(length_ - have_, std::clamp(have_, kPart, kLargestPart));
  place.resize(have_ + part);
  return absl::MakeSpan(place.data() + have_, part);
}

absl::Status ReplyReader::Take(size_t count) {
  have_ += count;
  try {
    switch (state_) {
      case State::kHead:
        return TakeHead();
      case State::kLength:
        if (have_ == length_) state_ = State::kDone;
        return absl::OkStatus();
      case State::kChunks:
        return TakeChunks();
      case State::kUntilEnd:
        return TakeUntilEnd();
      case State::kDone:
        return absl::OkStatus();
    }
  } catch (const std::bad_alloc&) {
  }
  return absl::ResourceExhaustedError("there is not enough memory for the reply");
}

absl::Status ReplyReader::TakeHead() {
  const size_t end = std::string_view(input_.data(), have_).find("\r\n\r\n");
  if (end == std::string_view::npos && have_ > limits_.head_bytes)
    return absl::ResourceExhaustedError(
        absl::StrCat("the reply's header is longer than ", limits_.head_bytes, " bytes"));
  if (end == std::string_view::npos) return absl::OkStatus();
  return ParseHead(end + 4);
}

absl::Status ReplyReader::ParseHead(size_t size) {
  parser_ = std::make_unique<Parser>();
  parser_->header_limit(static_cast<std::uint32_t>(size + 1));
  parser_->body_limit(static_cast<std::uint64_t>(limits_.body_bytes));
  boost::system::error_code error;
  parser_->put(boost::asio::buffer(input_.data(), size), error);
  if (error == http::error::body_limit) return TooLarge(limits_.body_bytes);
  if (error && error != http::error::need_more) return Malformed(error);
  if (!parser_->is_header_done()) return Malformed(http::make_error_code(http::error::bad_version));
  input_.erase(0, size);
  have_ -= size;
  const auto& message = parser_->get();
  if (message.result_int() < 200) {
    if (message.result_int() != 101 && ++interim_ <= kMostInterim) return TakeHead();
    return absl::InvalidArgumentError("the reply is interim ones (1xx) only");
  }
  reply_.status = static_cast<int>(message.result_int());
  for (const auto& field : message) {
    reply_.fields.emplace_back(absl::AsciiStrToLower(std::string(field.name_string())),
                               std::string(field.value()));
  }
  return BeginBody();
}

absl::Status ReplyReader::BeginBody() {
  keep_alive_ = parser_->get().keep_alive() && !parser_->need_eof();
  const bool none = reply_.status == 204 || reply_.status == 304;
  if (!none && parser_->chunked()) {
    state_ = State::kChunks;
    return TakeChunks();
  }
  const bool known = none || parser_->content_length().has_value();
  length_ = none || !known ? 0 : static_cast<size_t>(*parser_->content_length());
  const size_t there = known ? std::min(have_, length_) : have_;
  reply_.body.assign(input_, 0, there);
  keep_alive_ = keep_alive_ && have_ == there;
  have_ = there;
  state_ = !known ? State::kUntilEnd : have_ == length_ ? State::kDone : State::kLength;
  return absl::OkStatus();
}

absl::Status ReplyReader::TakeChunks() {
  boost::system::error_code error;
  while (have_ > 0 && !parser_->is_done()) {
    const size_t used = parser_->put(boost::asio::buffer(input_.data(), have_), error);
    input_.erase(0, used);
    have_ -= used;
    if (error || used == 0) break;
  }
  if (error == http::error::body_limit) return TooLarge(limits_.body_bytes);
  if (error && error != http::error::need_more) return Malformed(error);
  if (!parser_->is_done() && have_ > limits_.head_bytes + kPart)
    return absl::ResourceExhaustedError("the reply has a chunk whose head is too long");
  if (!parser_->is_done()) return absl::OkStatus();
  reply_.body = std::move(parser_->get().body());
  keep_alive_ = keep_alive_ && have_ == 0;
  state_ = State::kDone;
  return absl::OkStatus();
}

absl::Status ReplyReader::TakeUntilEnd() {
  if (have_ <= static_cast<size_t>(limits_.body_bytes)) return absl::OkStatus();
  return TooLarge(limits_.body_bytes);
}

absl::Status ReplyReader::End() {
  if (state_ == State::kUntilEnd) {
    reply_.body.resize(have_);
    state_ = State::kDone;
  }
  if (done()) return absl::OkStatus();
  const bool begun = state_ != State::kHead || have_ > 0;
  return absl::UnavailableError(begun ? "the server closed the connection inside its reply"
                                      : "the server closed the connection without a reply");
}

}  // namespace onward::serving
