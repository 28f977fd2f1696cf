// The methods of gRPC that endpoints over HTTP have too: a row each, with what their messages are
// as a request and a reply over HTTP.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "serving/http/message.h"
#include "serving/keys.h"

namespace onward::serving {

struct UnaryMethod {
  const char* name;        // "ServerLive"; with its service where that is another one
  RouteClass route_class;  // whose key it needs at least, before its message is read
  size_t most_bytes;       // of its message; 0: as many as a body may have
  // The request of a message. InvalidArgument: the bytes are not one, or say what cannot be asked
  // for.
  absl::StatusOr<HttpRequest> (*request)(std::string_view bytes);
  // The message of a reply. Errors as StatusOf.
  absl::StatusOr<std::string> (*reply)(const HttpReply& reply);
};

// The one that a call's path names, "/inference.GRPCInferenceService/ServerLive"; null: there is
// none.
const UnaryMethod* UnaryMethodAt(std::string_view path);

}  // namespace onward::serving
