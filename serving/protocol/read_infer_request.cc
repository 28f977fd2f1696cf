#include "serving/protocol/read_infer_request.h"

#include <charconv>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/shape.h"
#include "onward/status.h"
#include "serving/protocol/binary_tensor.h"
#include "serving/protocol/body_tensors.h"
#include "serving/protocol/json_members.h"
#include "serving/protocol/parameters.h"

namespace onward::serving {
namespace {

constexpr char kJsonLength[] = "Inference-Header-Content-Length";

class RequestReader {
 public:
  RequestReader(std::string_view body, std::optional<size_t> json_length, const BodyPart& tail)
      : json_(body.substr(0, json_length.value_or(body.size()))),
        tensors_(body, json_length, tail) {}

  absl::StatusOr<InferRequest> Read() {
    ONWARD_ASSIGN_OR_RETURN(const JsonElement document, ParseJson(*parser_, json_));
    JsonObject object;
    if (document.get(object) != simdjson::SUCCESS)
      return Wrong("the body", absl::StrCat("is ", std::string(KindOf(document)),
                                            ", expected an object with inputs"));
    InferRequest request;
    JsonElement value;
    if (object["id"].get(value) == simdjson::SUCCESS) {
      ONWARD_ASSIGN_OR_RETURN(request.id, TextOf(value, "id"));
    }
    ONWARD_RETURN_IF_ERROR(ReadRequestParameters(object, request));
    if (object["inputs"].get(value) != simdjson::SUCCESS)
      return Wrong("inputs", "is missing: an array of tensors is expected");
    ONWARD_ASSIGN_OR_RETURN(auto inputs, tensors_.Read(value, "input"));
    for (auto& [name, tensor] : inputs) request.inputs.emplace(name, std::move(tensor));
    if (object["outputs"].get(value) == simdjson::SUCCESS)
      ONWARD_RETURN_IF_ERROR(ReadOutputs(value, request));
    ONWARD_RETURN_IF_ERROR(tensors_.CheckEnd());
    return request;
  }

 private:
  static absl::Status ReadOutputs(JsonElement value, InferRequest& request) {
    ONWARD_ASSIGN_OR_RETURN(const JsonArray array, ArrayOf(value, "outputs"));
    std::set<std::string> seen;
    for (const JsonElement each : array) {
      const std::string where = absl::StrCat("outputs[", request.outputs.size(), "]");
      ONWARD_ASSIGN_OR_RETURN(const JsonObject object, ObjectOf(each, where));
      ONWARD_ASSIGN_OR_RETURN(const JsonElement member, MemberOf(object, "name", where));
      ONWARD_ASSIGN_OR_RETURN(std::string name, TextOf(member, absl::StrCat(where, ".name")));
      if (!seen.insert(name).second)
        return Wrong(absl::StrCat(where, ".name"), absl::StrCat("'", name, "' is asked for twice"));
      ONWARD_ASSIGN_OR_RETURN(const OutputParameters parameters,
                              ReadOutputParameters(object, where));
      request.outputs.push_back({std::move(name),
                                 parameters.binary_data.value_or(request.binary_output),
                                 parameters.classification});
    }
    return absl::OkStatus();
  }

  const std::string_view json_;
  BodyTensors tensors_;
  JsonParser parser_;
};

// The dims of `type` for so many elements: a dim that varies is what makes the product right.
absl::StatusOr<Dims> DimsFor(const Type& type, int64_t count, const std::string& name) {
  const auto wrong = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("a raw binary request needs a shape that "
                     "follows from the body's size; input '",
                     name, "' ", std::string(why)));
  };
  if (!type.shape) return wrong("has an unknown rank");
  Dims dims;
  std::optional<size_t> varying;
  int64_t known = 1;
  for (const Dim& dim : *type.shape) {
    if (!dim.known() && varying) return wrong("has several dims that vary");
    if (!dim.known()) varying = dims.size();
    dims.push_back(dim.known() ? dim.value() : 1);
    const auto product = CheckedMul(known, dims.back());
    if (!product) return wrong("is too large");
    known = *product;
  }
  if (varying && known > 0) dims[*varying] = count / known;
  return dims;
}

}  // namespace

absl::StatusOr<std::optional<size_t>> JsonLengthOf(const HttpFields& fields, size_t body_size) {
  std::optional<std::string_view> given;
  for (const auto& [name, value] : fields) {
    if (name != "inference-header-content-length") continue;
    if (given) return Wrong(kJsonLength, "is given twice");
    given = value;
  }
  if (!given) return std::optional<size_t>();
  size_t length = 0;
  const char* const end = given->data() + given->size();
  const auto [stop, error] = std::from_chars(given->data(), end, length);
  const bool overflow = error == std::errc::result_out_of_range;
  if (stop != end || (error != std::errc() && !overflow) || given->empty())
    return Wrong(kJsonLength, "is not a decimal number of bytes");
  if (overflow || length > body_size)
    return Wrong(kJsonLength,
                 absl::StrCat("is more than the body, which has ", body_size, " bytes"));
  return std::optional<size_t>(length);
}

absl::StatusOr<InferRequest> ReadInferRequest(std::string_view body,
                                              std::optional<size_t> json_length,
                                              const BodyPart& tail) {
  return RequestReader(body, json_length, tail).Read();
}

absl::StatusOr<InferRequest> ReadRawInferRequest(std::string_view body,
                                                 absl::Span<const ValueInfo> inputs) {
  if (inputs.size() != 1)
    return absl::InvalidArgumentError(
        absl::StrCat("a raw binary request (", kJsonLength,
                     ": 0) needs a model with one input, this one has ", inputs.size()));
  const ValueInfo& input = inputs[0];
  InferRequest request;
  request.binary_output = true;
  if (input.type.dtype == DType::kString) {
    ONWARD_ASSIGN_OR_RETURN(const Dims dims, DimsFor(input.type, 1, input.name));
    if (NumElements(dims) != 1)
      return absl::InvalidArgumentError(
          absl::StrCat("a raw binary request is one element of BYTES, input '", input.name,
                       "' has the shape ", DimsString(dims)));
    request.inputs.emplace(input.name, Tensor::Of<std::string>(dims, {std::string(body)}));
    return request;
  }
  const auto count = static_cast<int64_t>(body.size()) / ByteSize(input.type.dtype, 1);
  ONWARD_ASSIGN_OR_RETURN(const Dims dims, DimsFor(input.type, count, input.name));
  absl::StatusOr<Tensor> tensor = ReadBinaryTensor(input.type.dtype, dims, body);
  if (!tensor.ok())
    return Annotate(tensor.status(), absl::StrCat("raw data of input '", input.name, "':"));
  request.inputs.emplace(input.name, *std::move(tensor));
  return request;
}

absl::StatusOr<InferRequest> ReadInferRequest(const HttpFields& fields, std::string_view body,
                                              absl::Span<const ValueInfo> inputs,
                                              const BodyPart& tail) {
  ONWARD_ASSIGN_OR_RETURN(const std::optional<size_t> length,
                          JsonLengthOf(fields, body.size() + tail.bytes.size()));
  if (length == size_t{0}) return ReadRawInferRequest(body, inputs);
  return ReadInferRequest(body, length, tail);
}

}  // namespace onward::serving
