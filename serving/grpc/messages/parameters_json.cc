#include "serving/grpc/messages/parameters_json.h"

namespace onward::serving {
namespace {

using inference::InferParameter;

nlohmann::json ParameterJson(const InferParameter& parameter) {
  switch (parameter.parameter_choice_case()) {
    case InferParameter::kBoolParam:
      return parameter.bool_param();
    case InferParameter::kInt64Param:
      return parameter.int64_param();
    case InferParameter::kStringParam:
      return parameter.string_param();
    case InferParameter::kDoubleParam:
      return parameter.double_param();
    case InferParameter::kUint64Param:
      return parameter.uint64_param();
    case InferParameter::PARAMETER_CHOICE_NOT_SET:
      break;
  }
  return nullptr;
}

}  // namespace

nlohmann::json ParametersJson(
    const google::protobuf::Map<std::string, InferParameter>& parameters) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, parameter] : parameters) object[name] = ParameterJson(parameter);
  return object;
}

}  // namespace onward::serving
