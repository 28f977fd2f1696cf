#include "serving/client/infer_call.h"

#include <cmath>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/http/framing.h"
#include "serving/protocol/body_tensors.h"
#include "serving/protocol/datatype.h"
#include "serving/protocol/infer_reply.h"
#include "serving/protocol/json_members.h"
#include "serving/protocol/read_infer_request.h"

namespace onward::serving {
namespace {

absl::StatusOr<Type> ReadType(JsonObject object, const std::string& where) {
  ONWARD_ASSIGN_OR_RETURN(JsonElement value, MemberOf(object, "datatype", where));
  ONWARD_ASSIGN_OR_RETURN(const std::string name, TextOf(value, absl::StrCat(where, ".datatype")));
  const std::optional<DType> dtype = DTypeOfDatatype(name);
  if (!dtype)
    return Wrong(absl::StrCat(where, ".datatype"),
                 absl::StrCat("'", name, "' is not one of the protocol's"));
  ONWARD_ASSIGN_OR_RETURN(value, MemberOf(object, "shape", where));
  ONWARD_ASSIGN_OR_RETURN(const JsonArray array, ArrayOf(value, absl::StrCat(where, ".shape")));
  SymbolicDims dims;
  for (const JsonElement each : array) {
    int64_t dim = 0;
    if (each.get(dim) != simdjson::SUCCESS || dim < -1 || dims.size() == 64)
      return Wrong(absl::StrCat(where, ".shape"), "expected at most 64 sizes, -1 where one varies");
    dims.push_back(dim < 0 ? Dim() : Dim(dim));
  }
  return Type::Tensor(*dtype, std::move(dims));
}

// The largest finite magnitude; 0: there is none.
template <typename T>
double LargestOf(absl::Span<const T> values) {
  double largest = 0;
  for (const T value : values) {
    const double magnitude = std::abs(static_cast<double>(value));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

template <typename T>
bool AreEqual(const T& expected, const T& got, double most) {
  if constexpr (std::is_same_v<T, std::string> || std::is_integral_v<T>) {
    return expected == got;
  } else {
    const auto a = static_cast<double>(expected), b = static_cast<double>(got);
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= most;
  }
}

absl::Status CompareValues(const std::string& name, const Tensor& expected, const Tensor& got,
                           double tolerance) {
  absl::Status status;
  DispatchDType(Concat<NumericTypes, TypeList<bool, std::string>>(), expected.dtype(),
                [&](auto tag) {
                  using T = typename decltype(tag)::type;
                  const auto a = expected.span<T>(), b = got.span<T>();
                  double most = 0;
                  if constexpr (!std::is_same_v<T, std::string> && !std::is_integral_v<T>)
                    most = tolerance * LargestOf<T>(a);
                  for (size_t i = 0; i < a.size() && status.ok(); ++i)
                    if (!AreEqual<T>(a[i], b[i], most))
                      status = absl::InvalidArgumentError(
                          absl::StrCat("output '", name, "' differs at element ", i));
                });
  return status;
}

}  // namespace

std::string ModelPath(std::string_view model, std::string_view version) {
  return absl::StrCat("/v2/models/", EncodedSegment(model), version.empty() ? "" : "/versions/",
                      EncodedSegment(version));
}

absl::StatusOr<std::vector<ValueInfo>> ReadModelInputs(std::string_view metadata) {
  simdjson::dom::parser parser;
  ONWARD_ASSIGN_OR_RETURN(const JsonElement document, ParseJson(parser, metadata));
  ONWARD_ASSIGN_OR_RETURN(const JsonObject object, ObjectOf(document, "the metadata"));
  ONWARD_ASSIGN_OR_RETURN(const JsonElement member, MemberOf(object, "inputs", "the metadata"));
  ONWARD_ASSIGN_OR_RETURN(const JsonArray array, ArrayOf(member, "inputs"));
  std::vector<ValueInfo> inputs;
  for (const JsonElement each : array) {
    const std::string where = absl::StrCat("inputs[", inputs.size(), "]");
    ONWARD_ASSIGN_OR_RETURN(const JsonObject input, ObjectOf(each, where));
    ONWARD_ASSIGN_OR_RETURN(const JsonElement name, MemberOf(input, "name", where));
    ValueInfo& info = inputs.emplace_back();
    ONWARD_ASSIGN_OR_RETURN(info.name, TextOf(name, absl::StrCat(where, ".name")));
    ONWARD_ASSIGN_OR_RETURN(info.type, ReadType(input, where));
  }
  return inputs;
}

absl::StatusOr<ClientRequest> WriteInferCall(std::string_view model, std::string_view version,
                                             const Session::Inputs& inputs, bool binary) {
  HttpReply message;
  message.body = "{\"inputs\":[";
  for (const auto& [name, value] : inputs) {
    if (!value.is_tensor())
      return absl::InvalidArgumentError(absl::StrCat("input '", name, "' is not a tensor"));
    if (message.body.back() == '}') message.body.push_back(',');
    ONWARD_RETURN_IF_ERROR(AppendTensor({name, value.tensor(), binary}, message));
  }
  message.body += binary ? "],\"parameters\":{\"binary_data_output\":true}}" : "]}";
  if (binary) SendAsBytes(message);
  ClientRequest request{"POST", absl::StrCat(ModelPath(model, version), "/infer")};
  request.fields = std::move(message.fields);
  request.fields.emplace_back("Content-Type", std::string(message.content_type));
  request.body = std::move(message.body);
  for (const BodyPart& part : message.parts) request.body += part.bytes;
  return request;
}

absl::StatusOr<NamedTensors> ReadInferOutputs(const ServerReply& reply) {
  ONWARD_ASSIGN_OR_RETURN(const std::optional<size_t> length,
                          JsonLengthOf(reply.fields, reply.body.size()));
  const std::string_view body = reply.body;
  simdjson::dom::parser parser;
  ONWARD_ASSIGN_OR_RETURN(const JsonElement document,
                          ParseJson(parser, body.substr(0, length.value_or(body.size()))));
  ONWARD_ASSIGN_OR_RETURN(const JsonObject object, ObjectOf(document, "the reply"));
  ONWARD_ASSIGN_OR_RETURN(const JsonElement outputs, MemberOf(object, "outputs", "the reply"));
  BodyTensors tensors(body, length);
  ONWARD_ASSIGN_OR_RETURN(NamedTensors read, tensors.Read(outputs, "output"));
  ONWARD_RETURN_IF_ERROR(tensors.CheckEnd());
  return read;
}

absl::Status CompareOutputs(const NamedTensors& expected, const NamedTensors& got,
                            double tolerance) {
  if (expected.size() != got.size())
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", got.size(), " outputs, expected ", expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto& [name, tensor] = expected[i];
    const Tensor& other = got[i].second;
    if (name != got[i].first || tensor.dtype() != other.dtype() || tensor.dims() != other.dims())
      return absl::InvalidArgumentError(absl::StrCat(
          "output ", i, " is '", got[i].first, "' ", std::string(DatatypeName(other.dtype())), " ",
          DimsString(other.dims()), ", expected '", name, "' ",
          std::string(DatatypeName(tensor.dtype())), " ", DimsString(tensor.dims())));
    ONWARD_RETURN_IF_ERROR(CompareValues(name, tensor, other, tolerance));
  }
  return absl::OkStatus();
}

}  // namespace onward::serving
