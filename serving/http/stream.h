// The bytes of a connection: over TCP or a Unix socket, as they are or by TLS. Asio's asynchronous
// reads and writes work on it. Of the network's thread.
#pragma once

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>  // which Asio needs with GCC 12
//
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <memory>
#include <string>

namespace onward::serving {

class Stream {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using executor_type = Socket::executor_type;
  using Error = boost::system::error_code;

  // `tls` null: bytes as they are.
  Stream(Socket socket, boost::asio::ssl::context* tls) : socket_(std::move(socket)) {
    if (tls != nullptr) tls_ = std::make_unique<boost::asio::ssl::stream<Socket&>>(socket_, *tls);
  }

  // TLS refers to the socket, which therefore stays where it is.
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  executor_type get_executor() { return socket_.get_executor(); }
  bool is_encrypted() const { return tls_ != nullptr; }

  template <typename Handler>
  void Handshake(Handler&& handler) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Handler>(handler));
  }
  // To a server.
  template <typename Handler>
  void Connect(const boost::asio::generic::stream_protocol::endpoint& endpoint, Handler&& handler) {
    socket_.async_connect(endpoint, [this, handler = std::forward<Handler>(handler)](Error error) {
      Error ignored;  // a Unix socket does not know it
      if (!error) socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
      handler(error);
    });
  }
  // As the client of the server `host`, which its certificate has to name.
  template <typename Handler>
  void HandshakeWith(const std::string& host, Handler&& handler) {
    SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
    tls_->set_verify_callback(boost::asio::ssl::host_name_verification(host));
    tls_->async_handshake(boost::asio::ssl::stream_base::client, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_ == nullptr) {
      socket_.async_read_some(buffers, std::forward<Handler>(handler));
    } else {
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    }
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_ == nullptr) {
      socket_.async_write_some(buffers, std::forward<Handler>(handler));
    } else {
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    }
  }

  // Ends what is under way with operation_aborted.
  void Cancel() {
    Error ignored;
    socket_.cancel(ignored);
  }
  // Says that nothing more will be written. By TLS the reader knows from the reply's length.
  void EndWriting() {
    Error ignored;
    if (tls_ == nullptr) socket_.shutdown(Socket::shutdown_send, ignored);
  }
  // Returns whether the other side has closed the connection, as far as is known without reading.
  bool IsOver() {
    char byte;
    const ssize_t count = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }
  // Returns whether the other side writes nothing more, though there may be bytes to read.
  bool HasLeft() {
    pollfd poll_for{socket_.native_handle(), POLLRDHUP, 0};
    return poll(&poll_for, 1, 0) > 0;
  }
  // Throws away what was written and the other side has not taken: behind a closed socket the
  // system would keep it for as long as it is taken bit by bit.
  void Abandon() {
    int untaken = 0;
    if (ioctl(socket_.native_handle(), SIOCOUTQ, &untaken) != 0 || untaken == 0) return;
    Error ignored;
    socket_.set_option(boost::asio::socket_base::linger(true, 0), ignored);
    socket_.close(ignored);
  }
  void Close() {
    Error ignored;
    socket_.shutdown(Socket::shutdown_both, ignored);
    socket_.close(ignored);
  }

 private:
  Socket socket_;
  std::unique_ptr<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace onward::serving
