#include "serving/client/http_client.h"

#include "serving/client/server_connection.h"
//
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::serving {
namespace {

class AsioClient : public HttpClient {
 public:
  AsioClient(ServerUrl url, const HttpClientOptions& options, std::shared_ptr<ServerPlace> place)
      : url_(std::move(url)),
        options_(options),
        connection_(std::make_shared<ServerConnection>(context_, std::move(place))) {}

  absl::StatusOr<ServerReply> Ask(const ClientRequest& request) override {
    std::optional<absl::StatusOr<ServerReply>> reply;
    connection_->Ask(std::make_shared<const std::string>(BytesOf(request)), options_.most,
                     [&reply](absl::StatusOr<ServerReply> got) { reply = std::move(got); });
    context_.restart();
    while (!reply && context_.run_one() > 0) {
    }
    if (reply) return *std::move(reply);
    return absl::InternalError("the connection has ended without a result");
  }

  std::string BytesOf(const ClientRequest& request) const override {
    std::string bytes = absl::StrCat(request.method, " ", url_.path, request.path,
                                     " HTTP/1.1\r\nHost: ", url_.HostField(), "\r\n");
    for (const auto& [name, value] : request.fields)
      absl::StrAppend(&bytes, name, ": ", value, "\r\n");
    if (!options_.key.empty())
      absl::StrAppend(&bytes, "Authorization: Bearer ", options_.key, "\r\n");
    if (!request.body.empty() || request.method == "POST")
      absl::StrAppend(&bytes, "Content-Length: ", request.body.size(), "\r\n");
    return absl::StrCat(bytes, "\r\n", request.body);
  }

 private:
  const ServerUrl url_;
  const HttpClientOptions options_;
  boost::asio::io_context context_{1};
  const std::shared_ptr<ServerConnection> connection_;
};

// The text of {"error":"..."}, or the body's beginning; one line.
std::string ErrorTextOf(const std::string& body) {
  constexpr size_t kMost = 500;
  const nlohmann::json document = nlohmann::json::parse(body, nullptr, false);
  std::string text = body.substr(0, kMost);
  if (document.is_object() && document.contains("error") && document["error"].is_string())
    text = document["error"].get<std::string>().substr(0, kMost);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  return text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpClient>> HttpClient::Create(const HttpClientOptions& options) {
  ONWARD_ASSIGN_OR_RETURN(ServerUrl url, ReadServerUrl(options.url));
  ONWARD_ASSIGN_OR_RETURN(auto place, FindServer(url, options.ca_file));
  return std::make_unique<AsioClient>(std::move(url), options, std::move(place));
}

absl::Status StatusOfServer(const ServerReply& reply) {
  if (reply.status == 200) return absl::OkStatus();
  const std::string text = absl::StrCat(reply.status, ": ", ErrorTextOf(reply.body));
  switch (reply.status) {
    case 401:
    case 403:
      return absl::PermissionDeniedError(text);
    case 404:
      return absl::NotFoundError(text);
    case 503:
      return absl::UnavailableError(text);
    default:
      return reply.status < 500 ? absl::InvalidArgumentError(text) : absl::InternalError(text);
  }
}

}  // namespace onward::serving
