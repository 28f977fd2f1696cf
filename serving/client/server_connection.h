// A client's connection to a server, over Asio. All of it is of the thread that runs the context.
#pragma once

#include "serving/http/stream.h"
//
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serving/client/reply_reader.h"
#include "serving/client/server_url.h"

namespace onward::serving {

// State that connections to one server share.
struct ServerPlace {
  std::string text;  // of the URL, for errors
  std::string host;  // that the certificate has to name
  std::vector<boost::asio::generic::stream_protocol::endpoint> endpoints;
  std::optional<boost::asio::ssl::context> tls;
  ReplyLimits limits;
};

// Looks the host up. `ca_file`: certificates in PEM that are trusted besides the system's; "":
// none. NotFound: no such host; InvalidArgument: a file that has no certificates.
absl::StatusOr<std::shared_ptr<ServerPlace>> FindServer(const ServerUrl& url,
                                                        const std::string& ca_file);

// Connects when something is asked, and again where the server has closed the connection since.
class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  // Unavailable: no connection, or one that ended before the reply did; DeadlineExceeded: no reply
  // in time; others as ReplyReader::Take.
  using Done = std::function<void(absl::StatusOr<ServerReply> reply)>;

  ServerConnection(boost::asio::io_context& context, std::shared_ptr<ServerPlace> place);

  // Sends a request, as it travels, and calls `done` once, unless the context is stopped before.
  // One at a time.
  void Ask(std::shared_ptr<const std::string> request, std::chrono::milliseconds most, Done done);

 private:
  using Error = Stream::Error;

  void Connect(size_t endpoint);
  void Connected(std::shared_ptr<Stream> stream);
  void Send();
  void Read();
  void Finish(absl::Status status);
  // Returns whether a handler is of the connection and the request that count now.
  bool IsNow(const std::shared_ptr<Stream>& stream, uint64_t turn) const {
    return stream == stream_ && turn == turn_;
  }

  boost::asio::io_context& context_;
  const std::shared_ptr<ServerPlace> place_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<Stream> stream_;       // null: not connected
  std::shared_ptr<ReplyReader> reader_;  // of the stream, whose reads refer to it
  std::shared_ptr<const std::string> request_;
  Done done_;
  uint64_t turn_ = 0;  // of requests
  bool sending_ = false;
};

}  // namespace onward::serving
