#include "serving/protocol/infer_reply.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/protocol/datatype.h"

namespace onward::serving {
namespace {

using Types = Concat<NumericTypes, TypeList<bool, std::string>>;

// Quoted and escaped. Throws on bytes that are not UTF-8.
std::string Quoted(const std::string& text) { return nlohmann::json(text).dump(); }

template <typename T>
void AppendNumber(T number, std::string& json) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(number)) {
      json += std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
      return;
    }
  }
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  json.append(digits, end);
}

template <typename T>
void AppendElement(const T& element, std::string& json) {
  if constexpr (std::is_same_v<T, std::string>) {
    json += Quoted(element);
  } else if constexpr (std::is_same_v<T, bool>) {
    json += element ? "true" : "false";
  } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
    AppendNumber(element, json);
  } else {
    AppendNumber(static_cast<float>(element), json);
  }
}

void AppendTensor(const std::string& name, const Tensor& tensor, std::string& json) {
  absl::StrAppend(&json, "{\"name\":", Quoted(name), ",\"datatype\":\"",
                  std::string(DatatypeName(tensor.dtype())), "\",\"shape\":[");
  for (size_t i = 0; i < tensor.dims().size(); ++i)
    absl::StrAppend(&json, i == 0 ? "" : ",", tensor.dims()[i]);
  json += "],\"data\":[";
  DispatchDType(Types(), tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const absl::Span<const T> elements = tensor.span<T>();
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) json.push_back(',');
      AppendElement(elements[i], json);
    }
  });
  json += "]}";
}

}  // namespace

absl::StatusOr<std::string> WriteInferReply(const InferReply& reply) {
  std::string json = absl::StrCat("{\"model_name\":", Quoted(reply.model),
                                  ",\"model_version\":", Quoted(reply.version));
  if (reply.id) absl::StrAppend(&json, ",\"id\":", Quoted(*reply.id));
  json += ",\"outputs\":[";
  for (size_t i = 0; i < reply.outputs.size(); ++i) {
    if (i > 0) json.push_back(',');
    try {
      AppendTensor(reply.outputs[i].first, reply.outputs[i].second, json);
    } catch (const nlohmann::json::exception&) {
      return absl::FailedPreconditionError(
          absl::StrCat("output '", reply.outputs[i].first,
                       "' has text that is not UTF-8, which JSON cannot carry"));
    }
  }
  return json + "]}";
}

}  // namespace onward::serving
