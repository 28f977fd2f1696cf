#include "serving/grpc/messages/settings_messages.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "onward/status.h"
#include "serving/grpc/messages/http_status.h"
#include "serving/grpc/messages/inference.pb.h"

namespace onward::serving {
namespace {

using nlohmann::json;

HttpRequest Post(std::vector<std::string> segments, const json& body) {
  return {
      "POST", std::move(segments), {}, body.dump(-1, ' ', false, json::error_handler_t::replace)};
}

std::vector<std::string> RepositoryPath(const std::string& repository,
                                        std::vector<std::string> rest) {
  std::vector<std::string> segments = {"v2", "repository"};
  if (!repository.empty()) segments.push_back(repository);
  segments.insert(segments.end(), rest.begin(), rest.end());
  return segments;
}

// Files are base64 in JSON.
absl::StatusOr<json> LoadParameterJson(const std::string& name,
                                       const inference::ModelRepositoryParameter& parameter) {
  using Parameter = inference::ModelRepositoryParameter;
  const auto choice = parameter.parameter_choice_case();
  if (absl::StartsWith(name, "file:") && choice != Parameter::kBytesParam)
    return absl::InvalidArgumentError(
        absl::StrCat("parameters['", name, "']: expected the file as bytes_param"));
  switch (choice) {
    case Parameter::kBoolParam:
      return json(parameter.bool_param());
    case Parameter::kInt64Param:
      return json(parameter.int64_param());
    case Parameter::kStringParam:
      return json(parameter.string_param());
    case Parameter::kBytesParam:
      return json(absl::Base64Escape(parameter.bytes_param()));
    case Parameter::PARAMETER_CHOICE_NOT_SET:
      break;
  }
  return json(nullptr);
}

// The reply's settings, an object.
absl::StatusOr<json> SettingsOf(const HttpReply& reply) {
  ONWARD_RETURN_IF_ERROR(StatusOf(reply));
  json settings = json::parse(reply.body, nullptr, false);
  if (!settings.is_object()) return absl::InternalError("the reply has no settings");
  return settings;
}

std::string TextOfJson(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

absl::StatusOr<HttpRequest> IndexRequest(std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const auto message, Parsed<inference::RepositoryIndexRequest>(bytes));
  return Post(RepositoryPath(message.repository_name(), {"index"}), {{"ready", message.ready()}});
}

absl::StatusOr<HttpRequest> LoadModelRequest(std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const auto message, Parsed<inference::RepositoryModelLoadRequest>(bytes));
  json parameters = json::object();
  for (const auto& [name, parameter] : message.parameters()) {
    ONWARD_ASSIGN_OR_RETURN(parameters[name], LoadParameterJson(name, parameter));
  }
  return Post(RepositoryPath(message.repository_name(), {"models", message.model_name(), "load"}),
              {{"parameters", std::move(parameters)}});
}

absl::StatusOr<HttpRequest> UnloadModelRequest(std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const auto message,
                          Parsed<inference::RepositoryModelUnloadRequest>(bytes));
  return Post(RepositoryPath(message.repository_name(), {"models", message.model_name(), "unload"}),
              json::object());
}

absl::StatusOr<HttpRequest> TraceRequest(std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const auto message, Parsed<inference::TraceSettingRequest>(bytes));
  if (!message.model_name().empty())
    return absl::UnimplementedError("model_name: traces have one setting for all models");
  const std::vector<std::string> path = {"v2", "trace", "setting"};
  if (message.settings().empty()) return HttpRequest{"GET", path, {}, ""};
  json settings = json::object();
  for (const auto& [name, setting] : message.settings()) {
    json values = json::array();
    for (const std::string& value : setting.value()) values.push_back(value);
    const bool single = name != "trace_level" && values.size() == 1;
    settings[name] = values.empty() ? json(nullptr) : single ? values[0] : values;
  }
  return Post(path, settings);
}

absl::StatusOr<std::string> TraceReply(const HttpReply& reply) {
  ONWARD_ASSIGN_OR_RETURN(const json settings, SettingsOf(reply));
  inference::TraceSettingResponse message;
  for (const auto& [name, value] : settings.items()) {
    auto& setting = (*message.mutable_settings())[name];
    const json values = value.is_array() ? value : json::array({value});
    for (const json& each : values) setting.add_value(TextOfJson(each));
  }
  return message.SerializeAsString();
}

absl::StatusOr<HttpRequest> LogRequest(std::string_view bytes) {
  using Value = inference::LogSettingsRequest::SettingValue;
  ONWARD_ASSIGN_OR_RETURN(const auto message, Parsed<inference::LogSettingsRequest>(bytes));
  const std::vector<std::string> path = {"v2", "logging"};
  if (message.settings().empty()) return HttpRequest{"GET", path, {}, ""};
  json settings = json::object();
  for (const auto& [name, value] : message.settings()) {
    json& setting = settings[name];
    if (value.parameter_choice_case() == Value::kBoolParam) setting = value.bool_param();
    if (value.parameter_choice_case() == Value::kUint32Param) setting = value.uint32_param();
    if (value.parameter_choice_case() == Value::kStringParam) setting = value.string_param();
  }
  return Post(path, settings);
}

absl::StatusOr<std::string> LogReply(const HttpReply& reply) {
  ONWARD_ASSIGN_OR_RETURN(const json settings, SettingsOf(reply));
  inference::LogSettingsResponse message;
  for (const auto& [name, value] : settings.items()) {
    auto& setting = (*message.mutable_settings())[name];
    if (value.is_boolean()) {
      setting.set_bool_param(value.get<bool>());
    } else if (value.is_number_unsigned()) {
      setting.set_uint32_param(value.get<uint32_t>());
    } else {
      setting.set_string_param(TextOfJson(value));
    }
  }
  return message.SerializeAsString();
}

}  // namespace onward::serving
