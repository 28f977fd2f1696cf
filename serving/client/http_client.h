// A client that asks one server and waits for its replies.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "serving/client/reply_reader.h"

namespace onward::serving {

struct HttpClientOptions {
  std::string url;                        // see ReadServerUrl
  std::string ca_file = {};               // see FindServer
  std::string key = {};                   // sent with each request; "": none
  std::chrono::milliseconds most{60000};  // that a reply may take
};

// A request as it travels. `path` is escaped: "/v2/models/a%20digit".
struct ClientRequest {
  std::string method, path;
  HttpFields fields = {};  // besides Host, Authorization and Content-Length
  std::string body = {};
};

class HttpClient {
 public:
  // Connects with the first request. Errors as ReadServerUrl and FindServer.
  static absl::StatusOr<std::unique_ptr<HttpClient>> Create(const HttpClientOptions& options);
  virtual ~HttpClient() = default;

  // Errors as ServerConnection::Done.
  virtual absl::StatusOr<ServerReply> Ask(const ClientRequest& request) = 0;
  // The bytes of a request.
  virtual std::string BytesOf(const ClientRequest& request) const = 0;
};

// OK for 200. Else what the server says of it, by its status: "404: there is no model 'x'";
// Unavailable for 503, PermissionDenied for 401 and 403, NotFound for 404, else InvalidArgument
// below 500 and Internal above.
absl::Status StatusOfServer(const ServerReply& reply);

}  // namespace onward::serving
