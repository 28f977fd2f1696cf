#include "cli/serve_grpc.h"

#ifdef ONWARD_GRPC
#include "onward/status.h"
#include "serving/grpc/grpc_listener.h"
#endif

namespace onward::cli {

#ifdef ONWARD_GRPC
absl::Status AddGrpc(const serving::HttpAddress& address, serving::ServerOptions& server) {
  if (!address.unix_path.empty())
    return absl::InvalidArgumentError("--grpc: expected HOST:PORT, such as 127.0.0.1:8001");
  if (absl::Status status = serving::CheckAddress(address); !status.ok())
    return Annotate(status, "--grpc:");
  server.open_grpc = serving::GrpcAt({address, server.limits.body_bytes});
  return absl::OkStatus();
}
#else
absl::Status AddGrpc(const serving::HttpAddress&, serving::ServerOptions&) {
  return absl::UnimplementedError(
      "--grpc: this build has no gRPC; run scripts/setup grpc and build with "
      "cmake -DONWARD_GRPC=ON (preset grpc)");
}
#endif

}  // namespace onward::cli
