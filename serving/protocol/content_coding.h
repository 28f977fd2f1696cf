// Compressed bodies of requests and replies, for endpoints: both take the time of the data's size,
// so they belong to the threads that compute.
#pragma once

#include <cstddef>
#include <optional>

#include "serving/http/message.h"

namespace onward::serving {

// Replies with less are sent as they are.
inline constexpr size_t kLeastCompressed = 1024;

// Decompresses the request's body. A reply instead: 415 for a coding that is not known, 413 for
// more than `most` bytes, 400 for damaged data.
std::optional<HttpReply> DecodeBody(HttpRequest& request, size_t most);

// Compresses the reply to `request` if that accepts it.
void EncodeBody(const HttpRequest& request, HttpReply& reply);

}  // namespace onward::serving
