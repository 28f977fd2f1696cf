// gRPC beside HTTP, in builds that have it.
#pragma once

#include "absl/status/status.h"
#include "serving/server.h"

namespace onward::cli {

// The server will take gRPC on the address, with the limits that `server` has for HTTP.
// Unimplemented: this build has no gRPC. InvalidArgument: a Unix socket; others as
// CheckAddress.
absl::Status AddGrpc(const serving::HttpAddress& address, serving::ServerOptions& server);

}  // namespace onward::cli
