#include "serving/grpc/grpc_listener.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/grpc/calls.h"
#include "serving/grpc/single_call.h"

namespace onward::serving {
namespace {

constexpr int kMostStreams = 256;                    // calls of a connection at a time
constexpr int kHandshakeDeadline = 10'000;           // milliseconds
constexpr int kPingEvery = 60'000;                   // milliseconds: finds out who has vanished
constexpr int64_t kLeastQuota = int64_t{256} << 20;  // bytes of all messages that arrive

// Most lines of the logs of gRPC and Protobuf are of what strangers send. GRPC_VERBOSITY brings
// them back.
void KeepLogsQuiet() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_function([](gpr_log_func_args*) {});
  google::protobuf::SetLogHandler(nullptr);
}

std::string NameOf(const HttpAddress& address) {
  const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
  const bool is_v6 = host.find(':') != host.npos;
  return absl::StrCat(is_v6 ? "[" : "", host, is_v6 ? "]:" : ":", address.port);
}

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The files have been checked.
std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const HttpAddress& address) {
  if (address.certificate_file.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {FileText(address.key_file), FileText(address.certificate_file)});
  return grpc::SslServerCredentials(options);
}

class GrpcListener : public Listener, public grpc::CallbackGenericService {
 public:
  GrpcListener(ServerState& state, const GrpcOptions& options)
      : calls_(state, static_cast<size_t>(options.message_bytes)) {}

  ~GrpcListener() override {
    if (server_ == nullptr) return;
    calls_.Drain();
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  absl::Status Open(const GrpcOptions& options) {
    ONWARD_RETURN_IF_ERROR(CheckAddress(options.address));
    if (!options.address.unix_path.empty())
      return absl::InvalidArgumentError("gRPC listens on HOST:PORT, not on Unix sockets");
    KeepLogsQuiet();
    grpc::ServerBuilder builder;
    SetLimits(options, builder);
    builder.AddListeningPort(NameOf(options.address), CredentialsOf(options.address), &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    if (server_ != nullptr && port_ > 0) return absl::OkStatus();
    server_ = nullptr;
    return absl::NotFoundError(absl::StrCat("cannot listen for gRPC on ", NameOf(options.address),
                                            ": the port is taken by another process, or the "
                                            "address is not one of this machine"));
  }

  int port() const override { return port_; }

  bool Drain(std::chrono::seconds most) override {
    const auto end = std::chrono::system_clock::now() + most;
    calls_.Drain();
    server_->Shutdown(end);
    return std::chrono::system_clock::now() < end;
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return NewCall(*context, calls_);
  }

 private:
  // Compressed messages are refused: gRPC bounds their size before they are decompressed alone.
  static void SetLimits(const GrpcOptions& options, grpc::ServerBuilder& builder) {
    constexpr int64_t kMost = std::numeric_limits<int>::max();
    builder.SetMaxReceiveMessageSize(static_cast<int>(std::min(options.message_bytes, kMost)));
    builder.SetMaxSendMessageSize(-1);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeDeadline);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEvery);
    grpc::ResourceQuota quota("onward_grpc");
    quota.Resize(
        static_cast<size_t>(std::max(kLeastQuota, 4 * std::min(options.message_bytes, kMost))));
    builder.SetResourceQuota(quota);
  }

  Calls calls_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace

OpenListener GrpcAt(const GrpcOptions& options) {
  return [options](ServerState& state) -> absl::StatusOr<std::unique_ptr<Listener>> {
    auto listener = std::make_unique<GrpcListener>(state, options);
    if (absl::Status status = listener->Open(options); !status.ok()) return status;
    return listener;
  };
}

}  // namespace onward::serving
