#include "serving/grpc/messages/infer_request_message.h"

#include <google/protobuf/io/coded_stream.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/grpc/messages/parameters_json.h"
#include "serving/grpc/messages/typed_contents.h"
#include "serving/protocol/binary_tensor.h"
#include "serving/protocol/json_members.h"
#include "serving/protocol/parameters.h"
#include "serving/protocol/tensor_type.h"

namespace onward::serving {
namespace {

using google::protobuf::io::CodedInputStream;
using inference::ModelInferRequest;

constexpr int kMostFields = 20000;     // of the message itself
constexpr int kMostParts = 1'000'000;  // of its inputs and outputs: fields, parameters, texts
constexpr int kMostName = 64 << 10;    // bytes

// The object that requests over HTTP have, read by the same functions. It is valid as long as this.
class ParametersObject {
 public:
  explicit ParametersObject(
      const google::protobuf::Map<std::string, inference::InferParameter>& parameters) {
    nlohmann::json object = ParametersJson(parameters);
    object.erase(kWantsFinal);
    text_ = nlohmann::json{{"parameters", std::move(object)}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  absl::StatusOr<JsonObject> Read() {
    ONWARD_ASSIGN_OR_RETURN(const JsonElement document, ParseJson(parser_, text_));
    return ObjectOf(document, "parameters");
  }

 private:
  std::string text_;
  simdjson::dom::parser parser_;
};

// Where the elements of an input are.
struct Elements {
  const std::string* raw = nullptr;  // null: in the contents
  const inference::InferTensorContents* contents = nullptr;
};

absl::StatusOr<Tensor> ReadInput(const ModelInferRequest::InferInputTensor& input,
                                 const Elements& elements, const std::string& where) {
  if (!input.parameters().empty()) {
    ParametersObject parameters(input.parameters());
    ONWARD_ASSIGN_OR_RETURN(const JsonObject object, parameters.Read());
    ONWARD_RETURN_IF_ERROR(ReadInputParameters(object, where).status());
  }
  ONWARD_ASSIGN_OR_RETURN(const DType dtype,
                          DTypeNamed(input.datatype(), absl::StrCat(where, ".datatype")));
  const size_t room =
      elements.raw != nullptr ? elements.raw->size() : input.contents().ByteSizeLong();
  ShapeReader shape(absl::StrCat(where, ".shape"), room);
  for (const int64_t dim : input.shape()) ONWARD_RETURN_IF_ERROR(shape.Add(dim));
  const std::string name = absl::StrCat("input '", input.name(), "'");
  if (elements.raw == nullptr)
    return ReadTypedContents(dtype, shape.dims(), input.contents(),
                             absl::StrCat(where, ".contents: ", name, ":"));
  absl::StatusOr<Tensor> tensor = ReadBinaryTensor(dtype, shape.dims(), *elements.raw);
  if (tensor.ok()) return tensor;
  return Annotate(tensor.status(), absl::StrCat(where, ": raw_input_contents of ", name, ":"));
}

// Returns whether the elements are raw contents.
absl::StatusOr<bool> IsRaw(const ModelInferRequest& message) {
  const int raw = message.raw_input_contents_size();
  for (int i = 0; i < message.inputs_size(); ++i) {
    if (!message.inputs(i).has_contents()) continue;
    if (raw == 0) return false;
    return Wrong(absl::StrCat("inputs[", i, "].contents"),
                 "is there, and raw_input_contents too: all inputs have the one or the other");
  }
  if (raw != 0 && raw != message.inputs_size())
    return Wrong("raw_input_contents", absl::StrCat("has ", raw, " entries, expected ",
                                                    message.inputs_size(), ", one for each input"));
  return raw != 0;
}

absl::Status ReadInputs(const ModelInferRequest& message, bool raw, InferRequest& request) {
  for (int i = 0; i < message.inputs_size(); ++i) {
    const auto& input = message.inputs(i);
    const std::string where = absl::StrCat("inputs[", i, "]");
    Elements elements;
    if (raw) elements.raw = &message.raw_input_contents(i);
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor, ReadInput(input, elements, where));
    if (!request.inputs.emplace(input.name(), std::move(tensor)).second)
      return Wrong(absl::StrCat(where, ".name"),
                   absl::StrCat("'", input.name(), "' is given twice"));
  }
  return absl::OkStatus();
}

absl::Status ReadOutputs(const ModelInferRequest& message, InferRequest& request) {
  std::set<std::string> seen;
  for (const auto& output : message.outputs()) {
    const std::string where = absl::StrCat("outputs[", request.outputs.size(), "]");
    if (!seen.insert(output.name()).second)
      return Wrong(absl::StrCat(where, ".name"),
                   absl::StrCat("'", output.name(), "' is asked for twice"));
    RequestedOutput wanted{output.name(), request.binary_output};
    if (!output.parameters().empty()) {
      ParametersObject parameters(output.parameters());
      ONWARD_ASSIGN_OR_RETURN(const JsonObject object, parameters.Read());
      ONWARD_ASSIGN_OR_RETURN(const OutputParameters read, ReadOutputParameters(object, where));
      wanted.classes = read.classification;
    }
    request.outputs.push_back(std::move(wanted));
  }
  return absl::OkStatus();
}

absl::Status NotAMessage() {
  return absl::InvalidArgumentError("the message is not a ModelInferRequest");
}

// False: the bytes end, or are not a field.
bool SkipField(CodedInputStream& in, uint32_t tag) {
  uint64_t number = 0;
  uint32_t length = 0;
  switch (tag & 7) {
    case 0:
      return in.ReadVarint64(&number);
    case 1:
      return in.Skip(8);
    case 2:
      return in.ReadVarint32(&length) && length <= INT32_MAX && in.Skip(static_cast<int>(length));
    case 5:
      return in.Skip(4);
    default:
      return false;
  }
}

constexpr uint32_t LengthTag(uint32_t number) { return number << 3 | 2; }

// Counts the fields of a message that is next, and of its field `contents` where it is an input.
absl::Status CountParts(CodedInputStream& in, bool is_input, int& parts) {
  uint32_t length = 0;
  if (!in.ReadVarint32(&length) || length > INT32_MAX) return NotAMessage();
  const auto outer = in.PushLimit(static_cast<int>(length));
  while (const uint32_t tag = in.ReadTag()) {
    if (++parts > kMostParts)
      return absl::InvalidArgumentError(absl::StrCat("the message has more than ", kMostParts,
                                                     " parts: send raw_input_contents"));
    if (is_input && tag == LengthTag(5)) {
      ONWARD_RETURN_IF_ERROR(CountParts(in, false, parts));
    } else if (!SkipField(in, tag)) {
      return NotAMessage();
    }
  }
  if (!in.ConsumedEntireMessage() || in.BytesUntilLimit() > 0) return NotAMessage();
  in.PopLimit(outer);
  return absl::OkStatus();
}

bool ReadText(CodedInputStream& in, std::string& text) {
  uint32_t length = 0;
  return in.ReadVarint32(&length) && length <= kMostName &&
         in.ReadString(&text, static_cast<int>(length));
}

}  // namespace

absl::StatusOr<InferHead> ReadInferHead(google::protobuf::io::ZeroCopyInputStream& bytes) {
  InferHead head;
  int parts = 0;
  CodedInputStream in(&bytes);
  for (int fields = 0; const uint32_t tag = in.ReadTag(); ++fields) {
    if (fields == kMostFields)
      return absl::InvalidArgumentError(
          absl::StrCat("the message has more than ", kMostFields, " fields"));
    const bool is_input = tag == LengthTag(5);
    if (is_input || tag == LengthTag(6)) {
      ONWARD_RETURN_IF_ERROR(CountParts(in, is_input, parts));
      continue;
    }
    std::string* const text = tag == LengthTag(1)   ? &head.model
                              : tag == LengthTag(2) ? &head.version
                              : tag == LengthTag(3) ? &head.id
                                                    : nullptr;
    if (!(text != nullptr ? ReadText(in, *text) : SkipField(in, tag))) return NotAMessage();
  }
  if (!in.ConsumedEntireMessage()) return NotAMessage();
  return head;
}

absl::StatusOr<InferRequest> ReadInferMessage(const ModelInferRequest& message) {
  InferRequest request;
  if (!message.id().empty()) request.id = message.id();
  if (!message.parameters().empty()) {
    ParametersObject parameters(message.parameters());
    ONWARD_ASSIGN_OR_RETURN(const JsonObject object, parameters.Read());
    ONWARD_RETURN_IF_ERROR(ReadRequestParameters(object, request));
  }
  ONWARD_ASSIGN_OR_RETURN(const bool raw, IsRaw(message));
  const bool typed = !raw && message.inputs_size() > 0;
  request.binary_output = !typed;
  ONWARD_RETURN_IF_ERROR(ReadInputs(message, raw, request));
  ONWARD_RETURN_IF_ERROR(ReadOutputs(message, request));
  return request;
}

}  // namespace onward::serving
