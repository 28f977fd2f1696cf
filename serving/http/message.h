// One HTTP request and its reply, apart from how they travel.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serving/http/body_pipe.h"

namespace onward::serving {

using HttpFields = std::vector<std::pair<std::string, std::string>>;  // names in lower case

// Bytes that `owner` keeps alive.
struct BodyPart {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

struct HttpRequest {
  std::string method;                 // "GET"
  std::vector<std::string> segments;  // of the path, percent-decoded: {"v2", "models", "mnist"}
  HttpFields fields;
  std::string body;
  // The body's rest where HttpHandler::split says so: it may be changed, and begins where a cache
  // line does.
  BodyPart tail = {};
  std::string client = {};  // the client's address, "127.0.0.1"; "unix" of a Unix socket
  // Asked to stop once the client has closed the connection: nobody reads the reply any more.
  std::stop_token client_left = {};
};

struct HttpReply {
  int status = 200;
  std::string body = {};
  std::string_view content_type = "application/json";  // a constant
  HttpFields fields = {};            // besides Content-Type, Content-Length and Connection
  std::vector<BodyPart> parts = {};  // the body's rest
  // The body instead, of a length that nobody knows yet.
  std::shared_ptr<BodyPipe> pipe = nullptr;
};

size_t BodySize(const HttpRequest& request);  // with its tail
size_t BodySize(const HttpReply& reply);      // with its parts

// The value of the first field of that name (in lower case), or "".
std::string_view FieldOf(const HttpFields& fields, std::string_view name);

}  // namespace onward::serving
