#include "serving/protocol/body_tensors.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "serving/protocol/binary_tensor.h"
#include "serving/protocol/json_tensor.h"
#include "serving/protocol/parameters.h"
#include "serving/protocol/tensor_type.h"

namespace onward::serving {
namespace {

absl::StatusOr<Dims> ReadShape(JsonObject object, const std::string& where, size_t room) {
  ONWARD_ASSIGN_OR_RETURN(const JsonElement value, MemberOf(object, "shape", where));
  ShapeReader reader(absl::StrCat(where, ".shape"), room);
  ONWARD_ASSIGN_OR_RETURN(const JsonArray array, ArrayOf(value, absl::StrCat(where, ".shape")));
  for (const JsonElement each : array) {
    int64_t dim = -1;
    if (each.get(dim) != simdjson::SUCCESS) dim = -1;
    ONWARD_RETURN_IF_ERROR(reader.Add(dim));
  }
  return reader.dims();
}

absl::StatusOr<DType> ReadDatatype(JsonObject object, const std::string& where) {
  ONWARD_ASSIGN_OR_RETURN(const JsonElement datatype, MemberOf(object, "datatype", where));
  const std::string at = absl::StrCat(where, ".datatype");
  ONWARD_ASSIGN_OR_RETURN(const std::string name, TextOf(datatype, at));
  return DTypeNamed(name, at);
}

}  // namespace

BodyTensors::BodyTensors(std::string_view body, std::optional<size_t> json_length,
                         const BodyPart& tail)
    : binary_(tail.bytes.empty() ? body.substr(json_length.value_or(body.size())) : tail.bytes),
      owner_(tail.owner),
      body_size_(body.size() + tail.bytes.size()),
      has_length_(json_length.has_value()) {}

absl::StatusOr<std::vector<std::pair<std::string, Tensor>>> BodyTensors::Read(
    JsonElement value, const std::string& what) {
  ONWARD_ASSIGN_OR_RETURN(const JsonArray array, ArrayOf(value, absl::StrCat(what, "s")));
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::set<std::string> seen;
  for (const JsonElement each : array) {
    const std::string where = absl::StrCat(what, "s[", tensors.size(), "]");
    ONWARD_ASSIGN_OR_RETURN(const JsonObject object, ObjectOf(each, where));
    ONWARD_ASSIGN_OR_RETURN(const JsonElement member, MemberOf(object, "name", where));
    ONWARD_ASSIGN_OR_RETURN(const std::string name, TextOf(member, absl::StrCat(where, ".name")));
    ONWARD_ASSIGN_OR_RETURN(Tensor tensor,
                            ReadTensor(object, where, absl::StrCat(what, " '", name, "'")));
    if (!seen.insert(name).second)
      return Wrong(absl::StrCat(where, ".name"), absl::StrCat("'", name, "' is given twice"));
    tensors.emplace_back(name, std::move(tensor));
  }
  return tensors;
}

absl::Status BodyTensors::CheckEnd() const {
  if (binary_.empty()) return absl::OkStatus();
  return Wrong("the body", absl::StrCat("has ", binary_.size(),
                                        " bytes after the JSON that no binary_data_size "
                                        "stands for"));
}

absl::StatusOr<Tensor> BodyTensors::ReadTensor(JsonObject object, const std::string& where,
                                               const std::string& name) {
  ONWARD_ASSIGN_OR_RETURN(const DType dtype, ReadDatatype(object, where));
  ONWARD_ASSIGN_OR_RETURN(const Dims dims, ReadShape(object, where, body_size_));
  ONWARD_ASSIGN_OR_RETURN(const std::optional<uint64_t> size, ReadInputParameters(object, where));
  JsonElement data;
  const bool has_data = object["data"].get(data) == simdjson::SUCCESS;
  if (has_data && size)
    return Wrong(where, absl::StrCat(name, " has both data and binary_data_size"));
  if (size) return TakeBinary(dtype, dims, *size, where, name);
  if (!has_data)
    return Wrong(where, absl::StrCat(name, " has neither data nor parameters.binary_data_size"));
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
  ONWARD_RETURN_IF_ERROR(ReadJsonData(data, absl::StrCat(where, ".data"), tensor));
  return tensor;
}

absl::StatusOr<Tensor> BodyTensors::TakeBinary(DType dtype, const Dims& dims, uint64_t size,
                                               const std::string& where, const std::string& name) {
  if (size > binary_.size()) {
    std::string what = absl::StrCat("binary_data_size of ", name, " is ", size, ", but ",
                                    binary_.size(), " bytes are left after the JSON");
    if (!has_length_)
      absl::StrAppend(&what,
                      ": the field Inference-Header-Content-Length, which says where it ends, is "
                      "missing");
    return Wrong(where, what);
  }
  absl::StatusOr<Tensor> tensor =
      ReadBinaryTensor(dtype, dims, binary_.substr(0, static_cast<size_t>(size)), owner_);
  if (!tensor.ok())
    return Annotate(tensor.status(), absl::StrCat(where, ": binary data of ", name, ":"));
  binary_.remove_prefix(static_cast<size_t>(size));
  return tensor;
}

}  // namespace onward::serving
