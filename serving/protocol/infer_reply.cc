#include "serving/protocol/infer_reply.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/protocol/binary_tensor.h"
#include "serving/protocol/datatype.h"
#include "serving/protocol/decimal.h"
#include "serving/protocol/json_text.h"

namespace onward::serving {
namespace {

using Types = Concat<NumericTypes, TypeList<bool, std::string>>;

// Binary outputs that are copied behind the JSON: one write of one buffer costs less.
constexpr size_t kMostCopied = 16 * 1024;

// Appends it quoted and escaped. Throws on bytes that are not UTF-8.
void AppendText(const std::string& text, std::string& json) {
  if (IsPlain(text)) return AppendQuoted(text, json);
  json += nlohmann::json(text).dump();
}

// Elements and a comma behind each.
template <typename T>
void AppendElements(absl::Span<const T> elements, std::string& json) {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool>) {
    for (const T& element : elements) {
      if constexpr (std::is_same_v<T, bool>) {
        json += element ? "true" : "false";
      } else {
        AppendText(element, json);
      }
      json.push_back(',');
    }
  } else {
    constexpr size_t kAtOnce = 64;
    char text[kAtOnce * (kMostDecimalChars + 1)];
    for (size_t first = 0; first < elements.size(); first += kAtOnce) {
      char* to = text;
      for (const T element : elements.subspan(first, kAtOnce)) {
        to = WriteDecimal(element, to);
        *to++ = ',';
      }
      json.append(text, to);
    }
  }
}

void AppendData(const Tensor& tensor, std::string& json) {
  json += ",\"data\":[";
  DispatchDType(Types(), tensor.dtype(), [&](auto tag) {
    AppendElements(tensor.span<typename decltype(tag)::type>(), json);
  });
  if (json.back() == ',') json.pop_back();
  json += "]";
}

absl::StatusOr<BodyPart> BytesOf(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) {
    ONWARD_ASSIGN_OR_RETURN(std::string bytes, LengthPrefixed(tensor));
    const auto owner = std::make_shared<const std::string>(std::move(bytes));
    return BodyPart{*owner, owner};
  }
  const std::string_view bytes(static_cast<const char*>(tensor.raw_data()),
                               static_cast<size_t>(tensor.byte_size()));
  return BodyPart{bytes, tensor.buffer()};
}

}  // namespace

absl::Status AppendTensor(const ReplyOutput& output, HttpReply& message) {
  std::string& json = message.body;
  json += "{\"name\":";
  AppendQuoted(output.name, json);
  json += ",\"datatype\":\"";
  json += DatatypeName(output.tensor.dtype());
  json += "\",\"shape\":[";
  for (size_t i = 0; i < output.tensor.dims().size(); ++i)
    absl::StrAppend(&json, i == 0 ? "" : ",", output.tensor.dims()[i]);
  json += "]";
  if (output.binary) {
    ONWARD_ASSIGN_OR_RETURN(BodyPart part, BytesOf(output.tensor));
    absl::StrAppend(&json, ",\"parameters\":{\"binary_data_size\":", part.bytes.size(), "}");
    message.parts.push_back(std::move(part));
  } else {
    try {
      AppendData(output.tensor, json);
    } catch (const nlohmann::json::exception&) {
      return absl::FailedPreconditionError(
          absl::StrCat("output '", output.name,
                       "' has text that is not UTF-8, which JSON cannot carry: ask for it with "
                       "the parameter binary_data"));
    }
  }
  json += "}";
  return absl::OkStatus();
}

void SendAsBytes(HttpReply& message) {
  const size_t json = message.body.size(), size = BodySize(message);
  message.content_type = "application/octet-stream";
  message.fields.emplace_back("Inference-Header-Content-Length", absl::StrCat(json));
  if (size - json > kMostCopied) return;
  message.body.reserve(size);
  for (const BodyPart& part : message.parts) message.body += part.bytes;
  message.parts.clear();
}

absl::StatusOr<HttpReply> WriteInferReply(const InferReply& reply) {
  HttpReply written;
  std::string& json = written.body;
  json.reserve(256);
  json += "{\"model_name\":";
  AppendQuoted(reply.model, json);
  json += ",\"model_version\":";
  AppendQuoted(reply.version, json);
  if (reply.id) {
    json += ",\"id\":";
    AppendQuoted(*reply.id, json);
  }
  json += ",\"outputs\":[";
  bool binary = false;
  for (const ReplyOutput& output : reply.outputs) {
    if (&output != &reply.outputs.front()) json.push_back(',');
    ONWARD_RETURN_IF_ERROR(AppendTensor(output, written));
    binary = binary || output.binary;
  }
  json += "]}";
  if (binary) SendAsBytes(written);
  return written;
}

}  // namespace onward::serving
