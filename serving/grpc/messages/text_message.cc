#include "serving/grpc/messages/text_message.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "onward/status.h"
#include "serving/grpc/messages/infer_reply_message.h"
#include "serving/grpc/messages/infer_request_message.h"
#include "serving/grpc/messages/parameters_json.h"

namespace onward::serving {
namespace {

using nlohmann::json;

constexpr char kText[] = "text_input";

// The element of a tensor with one, else the list of its elements. FP16 and BF16 are not asked for.
json ElementsJson(const Tensor& tensor) {
  json list = json::array();
  using Types = TypeList<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                         uint64_t, float, double, std::string>;
  DispatchDType(Types(), tensor.dtype(), [&](auto tag) {
    for (const auto& element : tensor.span<typename decltype(tag)::type>()) list.push_back(element);
  });
  return list.size() == 1 ? json(list[0]) : list;
}

std::string MemberText(const json& document, const char* name) {
  const auto member = document.find(name);
  return member != document.end() && member->is_string() ? member->get<std::string>() : "";
}

}  // namespace

bool AsksForText(const inference::ModelInferRequest& message) {
  return std::any_of(message.inputs().begin(), message.inputs().end(),
                     [](const auto& input) { return input.name() == kText; });
}

absl::StatusOr<TextRequest> ReadTextMessage(const inference::ModelInferRequest& message) {
  ONWARD_ASSIGN_OR_RETURN(const InferRequest request, ReadInferMessage(message));
  TextRequest text;
  json body = json::object(), parameters = ParametersJson(message.parameters());
  text.wants_final = parameters.value(kWantsFinal, json()) == true;
  parameters.erase(kWantsFinal);
  for (const auto& [name, value] : request.inputs) body[name] = ElementsJson(value.tensor());
  if (const auto stream = body.find("stream"); stream != body.end()) {
    if (!stream->is_boolean())
      return absl::InvalidArgumentError("input 'stream': expected one element of BOOL");
    text.stream = stream->get<bool>();
    body.erase(stream);
  }
  if (!parameters.empty()) body["parameters"] = std::move(parameters);
  if (request.id) body["id"] = *request.id;
  text.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return text;
}

absl::StatusOr<std::vector<BodyPart>> WriteTextMessage(std::string_view bytes) {
  const json document = json::parse(bytes, nullptr, false);
  if (!document.is_object()) return absl::InternalError("the reply is not an object");
  if (document.contains("error")) return absl::InternalError(MemberText(document, "error"));
  InferReply reply{MemberText(document, "model_name"), MemberText(document, "model_version"),
                   MemberText(document, "id")};
  reply.outputs.push_back(
      {"text_output", Tensor::Of<std::string>({1}, {MemberText(document, "text_output")}), true});
  return WriteInferMessage(reply);
}

}  // namespace onward::serving
