#include "serving/grpc/messages/unary_methods.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/grpc/messages/http_status.h"
#include "serving/grpc/messages/inference.pb.h"
#include "serving/grpc/messages/settings_messages.h"

namespace onward::serving {
namespace {

constexpr std::string_view kService = "/inference.GRPCInferenceService/";
constexpr size_t kSmall = 64 << 10;

HttpRequest Get(std::vector<std::string> segments) { return {"GET", std::move(segments), {}, ""}; }

HttpRequest OfModel(const std::string& name, const std::string& version, const char* last) {
  std::vector<std::string> segments = {"v2", "models", name};
  if (!version.empty()) segments.insert(segments.end(), {"versions", version});
  if (*last != '\0') segments.push_back(last);
  return Get(std::move(segments));
}

// --- requests

template <typename Message>
absl::StatusOr<HttpRequest> Live(std::string_view bytes) {
  ONWARD_RETURN_IF_ERROR(Parsed<Message>(bytes).status());
  return Get({"v2", "health", "live"});
}

template <typename Message>
absl::StatusOr<HttpRequest> Ready(std::string_view bytes) {
  ONWARD_RETURN_IF_ERROR(Parsed<Message>(bytes).status());
  return Get({"v2", "health", "ready"});
}

absl::StatusOr<HttpRequest> Health(std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const auto message, Parsed<inference::HealthCheckRequest>(bytes));
  const std::string& service = message.service();
  if (service.empty() || service == "inference.GRPCInferenceService")
    return Get({"v2", "health", "ready"});
  return absl::NotFoundError(absl::StrCat("there is no service '", service, "'"));
}

absl::StatusOr<HttpRequest> ServerMetadata(std::string_view bytes) {
  ONWARD_RETURN_IF_ERROR(Parsed<inference::ServerMetadataRequest>(bytes).status());
  return Get({"v2"});
}

absl::StatusOr<HttpRequest> ModelReady(std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const auto message, Parsed<inference::ModelReadyRequest>(bytes));
  return OfModel(message.name(), message.version(), "ready");
}

absl::StatusOr<HttpRequest> ModelMetadata(std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const auto message, Parsed<inference::ModelMetadataRequest>(bytes));
  return OfModel(message.name(), message.version(), "");
}

absl::StatusOr<HttpRequest> ModelConfiguration(std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const auto message, Parsed<inference::ModelConfigRequest>(bytes));
  return OfModel(message.name(), message.version(), "config");
}

// Without a name: those of all models.
absl::StatusOr<HttpRequest> Statistics(std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const auto message, Parsed<inference::ModelStatisticsRequest>(bytes));
  if (message.name().empty()) return Get({"v2", "models", "stats"});
  return OfModel(message.name(), message.version(), "stats");
}

// --- replies

template <typename Message>
absl::StatusOr<std::string> FromJson(const std::string& json) {
  Message message;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &message, options);
  if (status.ok()) return message.SerializeAsString();
  return absl::InternalError("the reply cannot be written as a message");
}

template <typename Message>
absl::StatusOr<std::string> FromBody(const HttpReply& reply) {
  ONWARD_RETURN_IF_ERROR(StatusOf(reply));
  return FromJson<Message>(reply.body);
}

template <typename Message>
absl::StatusOr<std::string> Nothing(const HttpReply& reply) {
  ONWARD_RETURN_IF_ERROR(StatusOf(reply));
  return std::string();
}

// A model that is not ready is not an error.
template <typename Message>
absl::StatusOr<std::string> IsReady(const HttpReply& reply) {
  Message message;
  message.set_ready(reply.status == 200);
  if (reply.status != 503) ONWARD_RETURN_IF_ERROR(StatusOf(reply));
  return message.SerializeAsString();
}

absl::StatusOr<std::string> IsServing(const HttpReply& reply) {
  inference::HealthCheckResponse message;
  message.set_status(reply.status == 200 ? inference::HealthCheckResponse::SERVING
                                         : inference::HealthCheckResponse::NOT_SERVING);
  if (reply.status != 503) ONWARD_RETURN_IF_ERROR(StatusOf(reply));
  return message.SerializeAsString();
}

absl::StatusOr<std::string> Index(const HttpReply& reply) {
  ONWARD_RETURN_IF_ERROR(StatusOf(reply));
  return FromJson<inference::RepositoryIndexResponse>(
      absl::StrCat("{\"models\":", reply.body, "}"));
}

absl::StatusOr<std::string> Config(const HttpReply& reply) {
  ONWARD_RETURN_IF_ERROR(StatusOf(reply));
  return FromJson<inference::ModelConfigResponse>(absl::StrCat("{\"config\":", reply.body, "}"));
}

constexpr RouteClass kOpen = RouteClass::kOpen;
constexpr RouteClass kInference = RouteClass::kInference;
constexpr RouteClass kAdmin = RouteClass::kAdmin;

constexpr UnaryMethod kMethods[] = {
    {"ServerLive", kOpen, kSmall, Live<inference::ServerLiveRequest>,
     FromBody<inference::ServerLiveResponse>},
    {"ServerReady", kOpen, kSmall, Ready<inference::ServerReadyRequest>,
     IsReady<inference::ServerReadyResponse>},
    {"/grpc.health.v1.Health/Check", kOpen, kSmall, Health, IsServing},
    {"ServerMetadata", kOpen, kSmall, ServerMetadata, FromBody<inference::ServerMetadataResponse>},
    {"ModelReady", kInference, kSmall, ModelReady, IsReady<inference::ModelReadyResponse>},
    {"ModelMetadata", kInference, kSmall, ModelMetadata,
     FromBody<inference::ModelMetadataResponse>},
    {"ModelConfig", kInference, kSmall, ModelConfiguration, Config},
    {"ModelStatistics", kInference, kSmall, Statistics,
     FromBody<inference::ModelStatisticsResponse>},
    {"RepositoryIndex", kAdmin, kSmall, IndexRequest, Index},
    {"RepositoryModelLoad", kAdmin, 0, LoadModelRequest,
     Nothing<inference::RepositoryModelLoadResponse>},
    {"RepositoryModelUnload", kAdmin, kSmall, UnloadModelRequest,
     Nothing<inference::RepositoryModelUnloadResponse>},
    {"TraceSetting", kInference, kSmall, TraceRequest, TraceReply},
    {"LogSettings", kInference, kSmall, LogRequest, LogReply},
};

}  // namespace

const UnaryMethod* UnaryMethodAt(std::string_view path) {
  if (path.substr(0, kService.size()) == kService) path.remove_prefix(kService.size());
  for (const UnaryMethod& method : kMethods)
    if (path == method.name) return &method;
  return nullptr;
}

}  // namespace onward::serving
