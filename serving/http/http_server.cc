#include "serving/http/http_server.h"

#include <utility>  // which Asio needs with GCC 12
//
#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "serving/http/framing.h"

namespace onward::serving {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Error = boost::system::error_code;
using tcp = asio::ip::tcp;

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

class Connection;

// What connections share; all but `draining` is of the network's thread.
struct Shared {
  HttpLimits limits;
  HttpHandler handler;
  std::set<std::shared_ptr<Connection>> connections;
  bool draining = false;
  std::mutex mutex;
  std::condition_variable empty;
  size_t open = 0;  // guarded by mutex
};

// Reads a request, has it answered, writes the reply, and so on. Handlers of asynchronous calls
// keep the connection alive.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared& shared)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), shared_(shared) {
    Error ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
  }

  void Begin() { AwaitRequest(); }

  // Of a server that takes no more requests.
  void CloseIfIdle() {
    if (awaits_ == Awaits::kRequest) Close();
  }

  void Close() {
    Error ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
    timer_.cancel();
    if (shared_.connections.erase(shared_from_this()) == 0) return;
    const std::lock_guard lock(shared_.mutex);
    shared_.open = shared_.connections.size();
    shared_.empty.notify_all();
  }

 private:
  // The operation that is begun next fails with timed_out after so long.
  void Within(std::chrono::seconds most) {
    timed_out_ = false;
    timer_.expires_after(most);
    timer_.async_wait([self = shared_from_this(), turn = ++turn_](Error error) {
      if (error || turn != self->turn_) return;
      self->timed_out_ = true;
      self->socket_.cancel(error);
    });
  }

  // What follows the operation.
  template <typename F>
  auto Then(F&& next) {
    return [self = shared_from_this(), next = std::forward<F>(next)](Error error, size_t count) {
      ++self->turn_;
      self->timer_.cancel();
      next(error && self->timed_out_ ? Error(asio::error::timed_out) : error, count);
    };
  }

  void AwaitRequest() {
    if (shared_.draining) return Close();
    if (!input_.empty()) return ReadHead();  // pipelined
    awaits_ = Awaits::kRequest;
    Within(shared_.limits.idle_deadline);
    if (!reading_) ReadSome();
  }

  // Between requests and while a reply is computed or written, so that a client that leaves is
  // noticed.
  void ReadSome() {
    reading_ = true;
    socket_.async_read_some(asio::buffer(arrived_),
                            [self = shared_from_this()](Error error, size_t count) {
                              self->reading_ = false;
                              if (error) return self->Leave();
                              self->Take({self->arrived_.data(), count});
                            });
  }

  void Take(std::string_view arrived) {
    if (awaits_ == Awaits::kClose) return discarded_++ == 64 ? Close() : ReadSome();
    input_ += arrived;
    if (awaits_ == Awaits::kReply) return;  // pipelined: read once the reply is written
    awaits_ = Awaits::kReply;
    ++turn_;
    timer_.cancel();
    ReadHead();
  }

  void Leave() {
    client_.request_stop();
    Close();
  }

  void ReadHead() {
    Within(shared_.limits.head_deadline);
    asio::async_read_until(socket_, asio::dynamic_buffer(input_, shared_.limits.head_bytes),
                           "\r\n\r\n", Then([this](Error error, size_t count) {
                             const size_t line = std::min(input_.find("\r\n"), input_.size());
                             if (line > shared_.limits.line_bytes)
                               return Refuse(414,
                                             "the request line is longer than the server takes");
                             if (error == asio::error::not_found)
                               return Refuse(431, "the header is longer than the server takes");
                             if (error == asio::error::timed_out)
                               return Refuse(408, "the header did not come in time");
                             if (error) return Close();
                             ParseHead(count);
                           }));
  }

  void ParseHead(size_t count) {
    const std::string_view head(input_.data(), count);
    if (const absl::Status status = CheckHead(head); !status.ok()) return Refuse(400, status);
    parser_.emplace();
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

  void TakeHead() {
    const auto& message = parser_->get();
    request_ = HttpRequest();
    request_.method = std::string(message.method_string());
    for (const auto& field : message) {
      request_.fields.emplace_back(absl::AsciiStrToLower(std::string(field.name_string())),
                                   std::string(field.value()));
    }
    keep_alive_ = message.keep_alive();
    if (request_.fields.size() > shared_.limits.fields)
      return Refuse(431, "the header has more fields than the server takes");
    if (const absl::Status status =
            CheckFields(request_.fields, static_cast<int>(message.version()));
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
    asio::async_write(socket_, asio::buffer(kContinue),
                      Then([this](Error error, size_t) { return error ? Close() : ReadBody(); }));
  }

  bool IsRefused() {
    if (shared_.handler.admit == nullptr || parser_->chunked()) return false;
    const auto bytes = static_cast<int64_t>(*parser_->content_length());
    if (bytes < kLarge) return false;
    std::optional<HttpReply> refusal = shared_.handler.admit(request_, bytes);
    if (!refusal) return false;
    keep_alive_ = false;
    Write(*std::move(refusal), false);
    return true;
  }

  void ReadBody() {
    if (parser_->chunked()) return ReadChunks();
    const auto length = static_cast<size_t>(*parser_->content_length());
    const size_t there = std::min(length - request_.body.size(), input_.size());
    request_.body.append(input_, 0, there);
    input_.erase(0, there);
    ReadLength(length);
  }

  // In parts: no more memory is taken than has come, and one part more.
  void ReadLength(size_t length) {
    const size_t have = request_.body.size();
    if (have == length) return Handle();
    const size_t part = std::min(length - have, std::max(kPart, have));
    request_.body.resize(have + part);
    Within(shared_.limits.transfer_deadline * static_cast<int64_t>((part + kPart - 1) / kPart));
    asio::async_read(socket_, asio::buffer(request_.body.data() + have, part),
                     Then([this, length](Error error, size_t) {
                       if (error == asio::error::timed_out)
                         return Refuse(408, "the body did not come in time");
                       if (error) return Close();
                       ReadLength(length);
                     }));
  }

  void ReadChunks() {
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
    socket_.async_read_some(asio::buffer(input_.data() + have, 64 * 1024),
                            Then([this, have](Error failed, size_t count) {
                              input_.resize(have + (failed ? 0 : count));
                              if (failed == asio::error::timed_out)
                                return Refuse(408, "the body did not come in time");
                              if (failed) return Close();
                              ReadChunks();
                            }));
  }

  void Handle() {
    parser_.reset();
    client_ = std::stop_source();
    request_.client_left = client_.get_token();
    if (input_.empty() && !reading_) ReadSome();
    const bool head_alone = request_.method == "HEAD";
    shared_.handler.handle(std::move(request_),
                           [self = shared_from_this(), head_alone](HttpReply reply) mutable {
                             asio::post(self->socket_.get_executor(),
                                        [self, head_alone, reply = std::move(reply)]() mutable {
                                          self->Write(std::move(reply), head_alone);
                                        });
                           });
  }

  void Refuse(int status, std::string_view message) {
    keep_alive_ = false;
    Write(Refusal(status, message), false);
  }
  void Refuse(int status, const absl::Status& why) {
    Refuse(status, std::string_view(why.message().data(), why.message().size()));
  }

  void Write(HttpReply reply, bool head_alone) {
    keep_alive_ = keep_alive_ && !shared_.draining;
    const size_t size = BodySize(reply);
    head_ = absl::StrCat("HTTP/1.1 ", reply.status, " ", std::string(ReasonOf(reply.status)),
                         "\r\nContent-Type: ", reply.content_type, "\r\nContent-Length: ", size,
                         "\r\n", keep_alive_ ? "" : "Connection: close\r\n");
    for (const auto& [name, value] : reply.fields)
      absl::StrAppend(&head_, name, ": ", value, "\r\n");
    absl::StrAppend(&head_, "\r\n");
    reply_ = head_alone ? HttpReply() : std::move(reply);
    Within(shared_.limits.transfer_deadline * static_cast<int64_t>(1 + size / kPart));
    std::vector<asio::const_buffer> parts = {asio::buffer(head_), asio::buffer(reply_.body)};
    for (const BodyPart& part : reply_.parts)
      parts.push_back(asio::buffer(part.bytes.data(), part.bytes.size()));
    asio::async_write(socket_, parts, Then([this](Error error, size_t) {
                        reply_ = HttpReply();
                        if (error || !keep_alive_) return Linger(error);
                        AwaitRequest();
                      }));
  }

  // Closing while the client still sends would take the reply from it: what comes is read for a
  // moment and thrown away.
  void Linger(Error error) {
    if (error) return Close();
    Error ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    Within(std::chrono::seconds(1));
    awaits_ = Awaits::kClose;
    if (!reading_) ReadSome();
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  uint64_t turn_ = 0;  // of operations, so that a timer knows its own
  bool timed_out_ = false;
  Shared& shared_;
  enum class Awaits { kRequest, kReply, kClose };  // what the connection waits for
  Awaits awaits_ = Awaits::kReply;
  int discarded_ = 0;  // reads of a connection that closes
  std::array<char, 4096> arrived_;
  bool reading_ = false;     // into arrived_
  std::string input_;        // read and not yet used
  std::stop_source client_;  // of the request whose reply is due
  std::optional<http::request_parser<http::string_body>> parser_;
  HttpRequest request_;
  std::string head_;  // of the reply that is written
  HttpReply reply_;
  bool keep_alive_ = false;
};

class BeastServer : public HttpServer {
 public:
  BeastServer(const HttpLimits& limits, HttpHandler handler) : acceptor_(context_) {
    shared_.limits = limits;
    shared_.handler = std::move(handler);
  }

  ~BeastServer() override {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    shared_.connections.clear();
  }

  absl::Status Open(const std::string& host, int port) {
    Error error;
    const asio::ip::address address =
        asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
    if (error)
      return absl::InvalidArgumentError(
          absl::StrCat("'", host, "' is not an address, such as 127.0.0.1, 0.0.0.0 or ::1"));
    const tcp::endpoint endpoint(address, static_cast<unsigned short>(port));
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error == asio::error::address_in_use)
      return absl::AlreadyExistsError(
          absl::StrCat("port ", port, " is taken by another process: name another one"));
    if (error)
      return absl::NotFoundError(
          absl::StrCat("cannot listen on ", host, ":", port, ": ", error.message()));
    port_ = acceptor_.local_endpoint().port();
    Accept();
    thread_ = std::thread([this] { context_.run(); });
    return absl::OkStatus();
  }

  int port() const override { return port_; }

  bool Drain(std::chrono::seconds most) override {
    asio::post(context_, [this] {
      shared_.draining = true;
      Error ignored;
      acceptor_.close(ignored);
      const auto open = shared_.connections;  // they leave the set while they close
      for (const auto& connection : open) connection->CloseIfIdle();
      const std::lock_guard lock(shared_.mutex);
      drained_ = true;
      shared_.open = shared_.connections.size();
      shared_.empty.notify_all();
    });
    std::unique_lock lock(shared_.mutex);
    return shared_.empty.wait_for(lock, most, [this] { return drained_ && shared_.open == 0; });
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](Error error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      const bool full =
          shared_.connections.size() >= static_cast<size_t>(shared_.limits.connections);
      if (!error && !full) {
        const auto connection = std::make_shared<Connection>(std::move(socket), shared_);
        shared_.connections.insert(connection);
        connection->Begin();
      }
      if (!error) return Accept();
      // Out of descriptors: those that close give some back.
      retry_.expires_after(std::chrono::milliseconds(50));
      retry_.async_wait([this](Error) { Accept(); });
    });
  }

  asio::io_context context_{1};
  // Keeps the thread while requests are computed and nothing else is open.
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  tcp::acceptor acceptor_;
  asio::steady_timer retry_{context_};
  Shared shared_;
  std::thread thread_;
  int port_ = 0;
  bool drained_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(const std::string& host, int port,
                                                               const HttpLimits& limits,
                                                               HttpHandler handler) {
  auto server = std::make_unique<BeastServer>(limits, std::move(handler));
  if (absl::Status status = server->Open(host, port); !status.ok()) return status;
  return server;
}

}  // namespace onward::serving
