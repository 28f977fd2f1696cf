// The endpoints: one row each, with who may call it. A path that no row has does not exist.
#pragma once

#include "absl/types/span.h"
#include "serving/endpoints/endpoints.h"
#include "serving/keys.h"

namespace onward::serving {

struct Route {
  const char* method;
  const char* pattern;  // "v2/models/{}/infer"
  RouteClass route_class;
  const char* summary;  // for /openapi.json; null: it is not listed
  void (*handle)(ServerState& state, Call call);
  // Looks at a request with a large body before the body is read; null: takes all.
  std::optional<HttpReply> (*admit)(const ServerState& state, const std::vector<std::string>& names,
                                    int64_t body_bytes) = nullptr;
};

absl::Span<const Route> Routes();

// Hands the request to its endpoint: 404 where there is none, 405 for another method, 401 or 403
// where its key does not let it in. `exchange`: that of an inference whose tensors are not in the
// request; the reply then has the status and, of an error, its text.
void Dispatch(ServerState& state, HttpRequest request, HttpResponder respond,
              std::shared_ptr<InferExchange> exchange = nullptr);
// The reply to a request that is refused before its body, of so many bytes, is read: its key does
// not let it in, or it would wait too long. -1: nobody knows how many.
std::optional<HttpReply> Admit(const ServerState& state, const HttpRequest& head,
                               int64_t body_bytes);
// The number of bytes of a body that come before those that are read apart: the JSON of an
// inference whose tensors follow it, else all.
size_t SplitOf(const HttpRequest& head, size_t body_bytes);
// A client's request could not be read.
void NoteRefusal(const ServerState& state, const std::string& client, int status);

}  // namespace onward::serving
