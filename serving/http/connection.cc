#include "serving/http/connection.h"

#include "serving/http/connection_parser.h"
//
#include <algorithm>
#include <boost/beast/http/message.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "serving/http/framing.h"

namespace onward::serving {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr int64_t kLarge = 64 << 10;         // a body that is looked at before it is read
constexpr size_t kMostPipelined = 64 << 10;  // bytes that are read while a reply is due

}  // namespace

Connection::Connection(Stream::Socket socket, asio::ssl::context* tls, std::string client,
                       std::string place, Connections& shared)
    : stream_(std::move(socket), tls),
      client_address_(std::move(client)),
      place_(std::move(place)),
      shared_(shared) {}

Connection::~Connection() = default;

void Connection::Begin() {
  if (!stream_.is_encrypted()) return AwaitRequest();
  Within(shared_.limits.head_deadline);
  stream_.Handshake([self = shared_from_this()](Error error) {
    self->deadline_ = kNever;
    return error ? self->Close() : self->AwaitRequest();
  });
}

std::chrono::steady_clock::time_point Connection::IdleUntil() const {
  return awaits_ == Awaits::kRequest ? deadline_ : kNever;
}

void Connection::CloseIfIdle() {
  if (awaits_ == Awaits::kRequest) Close();
}

void Connection::Close() {
  stream_.Close();
  deadline_ = kNever;
  Release();
  EndRequest();
  if (pipe_ != nullptr) std::exchange(pipe_, nullptr)->Close();
  if (shared_.all.erase(shared_from_this()) == 0) return;
  const auto count = shared_.by_address.find(place_);
  if (count != shared_.by_address.end() && --count->second == 0) shared_.by_address.erase(count);
  const std::lock_guard lock(shared_.mutex);
  shared_.open = shared_.all.size();
  shared_.changed.notify_all();
}

void Connection::Within(std::chrono::seconds most) {
  timed_out_ = false;
  deadline_ = std::chrono::steady_clock::now() + most;
}

void Connection::CheckClient() {
  // So much was pipelined that nothing is read.
  if (under_way_ && !reading_ && stream_.HasLeft())
    asio::post(shared_.context, [self = shared_from_this()] { self->Leave(); });
}

void Connection::EndIfLate(std::chrono::steady_clock::time_point now) {
  if (!IsLate(now)) return;
  deadline_ = kNever;
  timed_out_ = true;
  stream_.Cancel();
}

void Connection::AwaitRequest() {
  if (shared_.closing) return Close();
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
                            try {
                              if (error) return self->Fail();
                              self->Take({self->arrived_.data(), count});
                            } catch (const std::bad_alloc&) {
                              self->RefuseForMemory();
                            }
                          });
}

void Connection::Take(std::string_view arrived) {
  if (awaits_ == Awaits::kClose) return Discard();
  input_ += arrived;
  switch (awaits_) {
    case Awaits::kRequest:
      deadline_ = kNever;
      return ReadHead();
    case Awaits::kHead:
      return ReadHead();
    case Awaits::kBody:
      return ReadBody();
    default:  // pipelined: it is taken once the reply is written
      if (input_.size() < kMostPipelined) ReadSome();
  }
}

void Connection::Fail() {
  const bool late = std::exchange(timed_out_, false);
  if (late && awaits_ == Awaits::kHead) return Refuse(408, "the header did not come in time");
  if (late && awaits_ == Awaits::kBody) return Refuse(408, "the body did not come in time");
  // A client that is still sending may read the refusal for as long as it wants.
  if (late && awaits_ != Awaits::kClose) stream_.Abandon();
  Leave();
}

void Connection::Break(Error error) {
  if (error == asio::error::timed_out) stream_.Abandon();
  Leave();
}

void Connection::Leave() {
  ++request_number_;  // nobody reads the reply
  client_.request_stop();
  Close();
}

void Connection::ReadHead() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const size_t from = searched_ < kEnd.size() ? 0 : searched_ - kEnd.size() + 1;
  const size_t end = input_.find(kEnd, from);
  const bool whole = end != input_.npos;
  const size_t line = std::min(input_.find("\r\n"), input_.size());
  if (line > shared_.limits.line_bytes)
    return Refuse(414, "the request line is longer than the server takes");
  if ((whole ? end : input_.size()) - line > shared_.limits.field_bytes)
    return Refuse(431, "the header is longer than the server takes");
  if (whole) {
    searched_ = 0;
    deadline_ = kNever;
    return ParseHead(end + kEnd.size());
  }
  searched_ = input_.size();
  awaits_ = Awaits::kHead;
  if (deadline_ == kNever) Within(shared_.limits.head_deadline);
  if (!reading_) ReadSome();
}

void Connection::ParseHead(size_t count) {
  const std::string_view head(input_.data(), count);
  if (const absl::Status status = CheckHead(head); !status.ok()) return Refuse(400, status);
  parser_ = std::make_unique<ConnectionParser>();
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
  if (expects.empty() || !input_.empty()) return BeginBody();
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  Within(shared_.limits.transfer_deadline);
  asio::async_write(stream_, asio::buffer(kContinue),
                    Then([this](Error error, size_t) { return error ? Close() : BeginBody(); }));
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

void Connection::Handle() {
  Release();
  deadline_ = kNever;
  client_ = std::stop_source();
  request_.client_left = client_.get_token();
  awaits_ = Awaits::kReply;
  under_way_ = true;
  ++shared_.under_way;
  if (input_.size() < kMostPipelined && !reading_) ReadSome();
  const bool head_alone = request_.method == "HEAD";
  EndTurn();
  shared_.handler.handle(std::move(request_), [self = shared_from_this(), head_alone,
                                               number = ++request_number_](HttpReply reply) {
    self->Give(std::move(reply), number, head_alone);
  });
}

void Connection::EndRequest() {
  if (std::exchange(under_way_, false)) --shared_.under_way;
}

void Connection::EndTurn() {
  if (shared_.handler.end_turn == nullptr || shared_.turn_ends) return;
  // Handlers that are ready now come before those that are posted.
  asio::post(shared_.context, [&shared = shared_] {
    shared.turn_ends = false;
    shared.handler.end_turn();
  });
  shared_.turn_ends = true;
}

}  // namespace onward::serving
