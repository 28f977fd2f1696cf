#include "serving/client/server_connection.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

absl::Status TakeCertificates(const std::string& ca_file, asio::ssl::context& tls) {
  boost::system::error_code error;
  tls.set_verify_mode(asio::ssl::verify_peer);
  tls.set_default_verify_paths(error);
  if (ca_file.empty()) return absl::OkStatus();
  tls.load_verify_file(ca_file, error);
  if (!error) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", ca_file, "' has no certificates in PEM: ", error.message()));
}

}  // namespace

absl::StatusOr<std::shared_ptr<ServerPlace>> FindServer(const ServerUrl& url,
                                                        const std::string& ca_file) {
  auto place = std::make_shared<ServerPlace>();
  place->text = url.unix_path.empty() ? url.HostField() : absl::StrCat("unix:", url.unix_path);
  place->host = url.host;
  if (url.encrypted) {
    place->tls.emplace(asio::ssl::context::tls_client);
    ONWARD_RETURN_IF_ERROR(TakeCertificates(ca_file, *place->tls));
  }
  if (!url.unix_path.empty()) {
    constexpr size_t kLongest = 107;  // that the system takes
    if (url.unix_path.size() > kLongest)
      return absl::InvalidArgumentError(
          absl::StrCat("'", url.unix_path, "' is longer than the path of a Unix socket may be"));
    place->endpoints.emplace_back(asio::local::stream_protocol::endpoint(url.unix_path));
    return place;
  }
  asio::io_context context;
  tcp::resolver resolver(context);
  boost::system::error_code error;
  const auto found = resolver.resolve(url.host, absl::StrCat(url.port), error);
  for (const auto& each : found) place->endpoints.emplace_back(each.endpoint());
  if (!place->endpoints.empty()) return place;
  return absl::NotFoundError(absl::StrCat("there is no host '", url.host, "': ", error.message()));
}

ServerConnection::ServerConnection(asio::io_context& context, std::shared_ptr<ServerPlace> place)
    : context_(context), place_(std::move(place)), timer_(context) {}

void ServerConnection::Ask(std::shared_ptr<const std::string> request,
                           std::chrono::milliseconds most, Done done) {
  request_ = std::move(request);
  done_ = std::move(done);
  ++turn_;
  timer_.expires_after(most);
  timer_.async_wait([self = shared_from_this(), turn = turn_, most](Error error) {
    if (error || turn != self->turn_) return;
    self->Finish(absl::DeadlineExceededError(
        absl::StrCat("there was no reply within ", most.count(), " ms")));
  });
  if (stream_ != nullptr && stream_->IsOver()) stream_ = nullptr;
  if (stream_ == nullptr) return Connect(0);
  Send();
}

void ServerConnection::Connect(size_t endpoint) {
  const auto stream =
      std::make_shared<Stream>(Stream::Socket(context_), place_->tls ? &*place_->tls : nullptr);
  stream_ = stream;
  reader_ = std::make_shared<ReplyReader>(place_->limits);
  stream->Connect(place_->endpoints[endpoint],
                  [self = shared_from_this(), stream, endpoint, turn = turn_](Error error) {
                    if (!self->IsNow(stream, turn)) return;
                    if (!error) return self->Connected(stream);
                    if (endpoint + 1 < self->place_->endpoints.size())
                      return self->Connect(endpoint + 1);
                    self->Finish(absl::UnavailableError(absl::StrCat(
                        "cannot connect to ", self->place_->text, ": ", error.message())));
                  });
}

void ServerConnection::Connected(std::shared_ptr<Stream> stream) {
  if (!stream->is_encrypted()) return Send();
  stream->HandshakeWith(
      place_->host, [self = shared_from_this(), stream, turn = turn_](Error error) {
        if (!self->IsNow(stream, turn)) return;
        if (!error) return self->Send();
        self->Finish(absl::UnavailableError(
            absl::StrCat("cannot connect to ", self->place_->text, " by TLS: ", error.message())));
      });
}

// A server may reply before it has read everything: both go on at the same time.
void ServerConnection::Send() {
  reader_->Begin();
  sending_ = true;
  asio::async_write(*stream_, asio::buffer(*request_),
                    [self = shared_from_this(), stream = stream_, turn = turn_, request = request_](
                        Error, size_t) {
                      if (self->IsNow(stream, turn)) self->sending_ = false;
                    });
  Read();
}

void ServerConnection::Read() {
  const absl::Span<char> room = reader_->Room();
  stream_->async_read_some(
      asio::buffer(room.data(), room.size()),
      [self = shared_from_this(), stream = stream_, turn = turn_, reader = reader_](Error error,
                                                                                    size_t count) {
        if (!self->IsNow(stream, turn)) return;
        const bool ended = error == asio::error::eof || error == asio::error::connection_reset ||
                           error == asio::ssl::error::stream_truncated;
        if (error && !ended)
          return self->Finish(
              absl::UnavailableError(absl::StrCat("reading the reply failed: ", error.message())));
        const absl::Status status = ended ? reader->End() : reader->Take(count);
        if (!status.ok() || reader->done()) return self->Finish(status);
        self->Read();
      });
}

void ServerConnection::Finish(absl::Status status) {
  timer_.cancel();
  ++turn_;
  // Nobody reads what is not sent by now.
  if (!status.ok() || sending_ || !reader_->keep_alive()) {
    if (stream_ != nullptr) stream_->Close();
    stream_ = nullptr;
  }
  const Done done = std::exchange(done_, nullptr);
  if (status.ok()) return done(reader_->TakeReply());
  done(std::move(status));
}

}  // namespace onward::serving
