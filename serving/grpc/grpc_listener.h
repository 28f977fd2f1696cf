// gRPC: the methods of the Open Inference Protocol v2 on a port of their own.
#pragma once

#include <cstdint>

#include "serving/http/http_server.h"
#include "serving/listener.h"

namespace onward::serving {

struct GrpcOptions {
  HttpAddress address = {.port = 8001};
  int64_t message_bytes = int64_t{64} << 20;  // of a request; larger ones get ResourceExhausted
};

// Errors of what it returns: InvalidArgument: what is not an address, a certificate or a key;
// NotFound: it cannot be listened on.
OpenListener GrpcAt(const GrpcOptions& options);

}  // namespace onward::serving
