#include "serving/http/http_server.h"

#include "serving/http/client_place.h"
#include "serving/http/connection.h"
//
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;
using Endpoint = asio::generic::stream_protocol::endpoint;
using asio::ip::tcp;

constexpr std::chrono::milliseconds kDeadlinePeriod(250), kDrainPeriod(10);
// Clients that come together are late together: between so many of them others are served.
constexpr size_t kLateAtOnce = 16;
constexpr size_t kAcceptedAtOnce = 16;

std::string NameOf(const HttpAddress& address) {
  return address.unix_path.empty() ? absl::StrCat(address.host, ":", address.port)
                                   : absl::StrCat("unix:", address.unix_path);
}

absl::StatusOr<Endpoint> EndpointOf(const HttpAddress& address) {
  Error error;
  const asio::ip::address host =
      asio::ip::make_address(address.host == "localhost" ? "127.0.0.1" : address.host, error);
  if (!error) return Endpoint(tcp::endpoint(host, static_cast<unsigned short>(address.port)));
  return absl::InvalidArgumentError(
      absl::StrCat("'", address.host, "' is not an address, such as 127.0.0.1, 0.0.0.0 or ::1"));
}

absl::Status CheckUnixPath(const std::string& path) {
  constexpr size_t kLongest = 107;  // that the system takes
  if (path.size() > kLongest)
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is longer than the ", kLongest, " bytes of a Unix socket"));
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || S_ISSOCK(status.st_mode)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("'", path, "' is there and is not a socket"));
}

// Nobody listens on a socket that a process left behind.
absl::StatusOr<Endpoint> UnixEndpointOf(const std::string& path, asio::io_context& context) {
  Error error;
  ONWARD_RETURN_IF_ERROR(CheckUnixPath(path));
  const asio::local::stream_protocol::endpoint endpoint(path);
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return Endpoint(endpoint);
  asio::local::stream_protocol::socket probe(context);
  probe.connect(endpoint, error);
  if (!error)
    return absl::AlreadyExistsError(
        absl::StrCat("'", path, "' is taken by another process: name another one"));
  unlink(path.c_str());
  return Endpoint(endpoint);
}

absl::Status ReadCertificate(const HttpAddress& address, asio::ssl::context& tls) {
  using asio::ssl::context;
  Error error;
  tls.set_options(context::default_workarounds | context::no_sslv2 | context::no_sslv3 |
                  context::no_tlsv1 | context::no_tlsv1_1);
  tls.use_certificate_chain_file(address.certificate_file, error);
  if (error)
    return absl::InvalidArgumentError(absl::StrCat(
        "'", address.certificate_file, "' is not a certificate in PEM: ", error.message()));
  tls.use_private_key_file(address.key_file, context::pem, error);
  if (!error) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", address.key_file, "' is not the certificate's key in PEM: ", error.message()));
}

// `tls` stays empty where the address has no certificate.
absl::Status TakeTls(const HttpAddress& address, std::optional<asio::ssl::context>& tls) {
  if (address.certificate_file.empty() != address.key_file.empty())
    return absl::InvalidArgumentError("a certificate and its key are given together");
  if (address.certificate_file.empty()) return absl::OkStatus();
  tls.emplace(asio::ssl::context::tls_server);
  return ReadCertificate(address, *tls);
}

// Says that an operation is under way until it ends. Without memory for the socket of a new
// connection Asio drops the operation that waits for it, instead of calling its handler.
class UnderWay {
 public:
  explicit UnderWay(bool& is) : is_(&is) { is = true; }
  UnderWay(UnderWay&& other) noexcept : is_(std::exchange(other.is_, nullptr)) {}
  UnderWay& operator=(UnderWay&&) = delete;
  ~UnderWay() { End(); }

  void End() {
    if (is_ != nullptr) *std::exchange(is_, nullptr) = false;
  }

 private:
  bool* is_;
};

class AsioServer : public HttpServer {
 public:
  AsioServer(const HttpLimits& limits, HttpHandler handler) : acceptor_(context_) {
    shared_.limits = limits;
    shared_.handler = std::move(handler);
  }

  ~AsioServer() override {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    shared_.all.clear();
    if (!unix_path_.empty()) unlink(unix_path_.c_str());
  }

  absl::Status Open(const HttpAddress& address) {
    ONWARD_RETURN_IF_ERROR(TakeTls(address, tls_));
    const bool is_tcp = address.unix_path.empty();
    ONWARD_ASSIGN_OR_RETURN(
        const Endpoint endpoint,
        is_tcp ? EndpointOf(address) : UnixEndpointOf(address.unix_path, context_));
    Error error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error && is_tcp) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) acceptor_.non_blocking(true, error);
    if (error == asio::error::address_in_use)
      return absl::AlreadyExistsError(
          absl::StrCat("port ", address.port, " is taken by another process: name another one"));
    if (error)
      return absl::NotFoundError(
          absl::StrCat("cannot listen on ", NameOf(address), ": ", error.message()));
    unix_path_ = address.unix_path;
    if (is_tcp) ReadPort();
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  int port() const override { return port_; }

  bool Drain(std::chrono::milliseconds least, std::chrono::seconds most) override {
    const auto begin = std::chrono::steady_clock::now();
    asio::post(context_, [this, begin, least, most] {
      shared_.draining = true;
      CloseOnceDone(begin + least, begin + most);
    });
    std::unique_lock lock(shared_.mutex);
    return shared_.changed.wait_for(lock, most, [this] { return closed_ && shared_.open == 0; });
  }

 private:
  // A handler for which memory was missing is lost; the others are served. What waits for the next
  // connection or turn of the clock begins again.
  void Run() {
    while (true) {
      try {
        if (!accepts_) Accept();
        if (!checks_) CheckDeadlines();
        context_.run();
        return;
      } catch (const std::bad_alloc&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }

  // Closes the port once no request is under way, in [least, most], and connections that are idle.
  void CloseOnceDone(std::chrono::steady_clock::time_point least,
                     std::chrono::steady_clock::time_point most) {
    const auto now = std::chrono::steady_clock::now();
    if (now < most && (now < least || shared_.under_way > 0)) {
      drain_.expires_after(kDrainPeriod);
      drain_.async_wait([this, least, most](Error) { CloseOnceDone(least, most); });
      return;
    }
    shared_.closing = true;
    Error ignored;
    acceptor_.close(ignored);
    const auto open = shared_.all;  // they leave the set while they close
    for (const auto& connection : open) connection->CloseIfIdle();
    const std::lock_guard lock(shared_.mutex);
    closed_ = true;
    shared_.open = shared_.all.size();
    shared_.changed.notify_all();
  }

  // The one that the system chose.
  void ReadPort() {
    tcp::endpoint endpoint;
    const Endpoint local = acceptor_.local_endpoint();
    endpoint.resize(local.size());
    std::memcpy(endpoint.data(), local.data(), local.size());
    port_ = endpoint.port();
  }

  void Accept() {
    if (!acceptor_.is_open()) return;
    acceptor_.async_accept(
        [this, waits = UnderWay(accepts_)](Error error, Stream::Socket socket) mutable {
          waits.End();
          if (!acceptor_.is_open()) return;
          if (!error) {
            TakeIfRoom(std::move(socket));
            TakeWaiting();
            return Accept();
          }
          // Out of descriptors: those that close give some back.
          retry_.expires_after(std::chrono::milliseconds(50));
          retry_.async_wait([this, retries = UnderWay(accepts_)](Error) mutable {
            retries.End();
            Accept();
          });
        });
  }

  // Those that have connected in the meantime. One at each turn of the loop would leave them behind
  // all requests of the connections that are open.
  void TakeWaiting() {
    for (size_t i = 1; i < kAcceptedAtOnce; ++i) {
      Error error;
      Stream::Socket socket = acceptor_.accept(error);
      if (error) return;
      TakeIfRoom(std::move(socket));
    }
  }

  // Takes the connection, or closes it when the table is full or memory runs out.
  void TakeIfRoom(Stream::Socket socket) {
    try {
      if (HasRoom()) Take(std::move(socket));
    } catch (const std::bad_alloc&) {
    }
  }

  void CheckDeadlines() {
    deadlines_.expires_after(kDeadlinePeriod);
    deadlines_.async_wait([this, waits = UnderWay(checks_)](Error) mutable {
      waits.End();
      const auto now = std::chrono::steady_clock::now();
      std::vector<std::shared_ptr<Connection>> late;
      for (const auto& connection : shared_.all) {
        connection->CheckClient();
        if (connection->IsLate(now)) late.push_back(connection);
      }
      EndLate(std::move(late), now);
      shared_.mail.Deliver();
      CheckDeadlines();
    });
  }

  void EndLate(std::vector<std::shared_ptr<Connection>> late,
               std::chrono::steady_clock::time_point now) {
    for (size_t i = 0; i < kLateAtOnce && !late.empty(); ++i) {
      late.back()->EndIfLate(now);
      late.pop_back();
    }
    if (late.empty()) return;
    asio::post(context_,
               [this, late = std::move(late), now]() mutable { EndLate(std::move(late), now); });
  }

  // Makes room for a newcomer by closing those that have been idle for longest: many at once, so
  // that a flood of newcomers does not look through all of them for each.
  bool HasRoom() {
    const auto most = static_cast<size_t>(shared_.limits.connections);
    if (shared_.all.size() < most) return true;
    std::vector<std::shared_ptr<Connection>> idle;
    for (const auto& connection : shared_.all) {
      if (connection->IdleUntil() != Connection::kNever) idle.push_back(connection);
    }
    const auto end = idle.begin() + static_cast<ptrdiff_t>((idle.size() + 63) / 64);
    std::partial_sort(idle.begin(), end, idle.end(),
                      [](const auto& a, const auto& b) { return a->IdleUntil() < b->IdleUntil(); });
    std::for_each(idle.begin(), end, [](const auto& connection) { connection->CloseIfIdle(); });
    return shared_.all.size() < most;
  }

  // Where the address has too many, the connection is closed.
  void Take(Stream::Socket socket) {
    Error ignored;
    if (unix_path_.empty()) socket.set_option(tcp::no_delay(true), ignored);
    std::string client = ClientOf(socket), place = PlaceOf(client);
    const HttpLimits& limits = shared_.limits;
    const int most = place.empty() ? limits.connections_from_here : limits.connections_per_address;
    int& count = shared_.by_address[place];
    if (count >= most) return;
    std::shared_ptr<Connection> connection;
    try {
      connection = std::make_shared<Connection>(std::move(socket), tls_ ? &*tls_ : nullptr,
                                                std::move(client), place, shared_);
      ++count;  // which the connection takes back
      shared_.all.insert(connection);
      connection->Begin();
    } catch (const std::bad_alloc&) {
      shared_.all.erase(connection);
      throw;
    }
  }

  // Operations under way; of the network's thread. Asio's context ends those that are left.
  bool accepts_ = false, checks_ = false;
  asio::io_context context_{1};
  // Keeps the thread while requests are computed and nothing else is open.
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  std::optional<asio::ssl::context> tls_;
  asio::basic_socket_acceptor<asio::generic::stream_protocol> acceptor_;
  asio::steady_timer retry_{context_}, deadlines_{context_}, drain_{context_};
  Connections shared_{context_};
  std::thread thread_;
  std::string unix_path_;
  int port_ = 0;
  bool closed_ = false;
};

}  // namespace

absl::Status CheckAddress(const HttpAddress& address) {
  std::optional<asio::ssl::context> tls;
  ONWARD_RETURN_IF_ERROR(TakeTls(address, tls));
  if (address.unix_path.empty()) return EndpointOf(address).status();
  return CheckUnixPath(address.unix_path);
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(const HttpAddress& address,
                                                               const HttpLimits& limits,
                                                               HttpHandler handler) {
  auto server = std::make_unique<AsioServer>(limits, std::move(handler));
  if (absl::Status status = server->Open(address); !status.ok()) return status;
  return server;
}

}  // namespace onward::serving
