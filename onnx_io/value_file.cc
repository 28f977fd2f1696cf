// Serialized tensors, sequences, optionals and maps in files.
#include <string>

#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "onnx/onnx-data.pb.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/tensor_proto.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

absl::StatusOr<Value> FromSequence(const onnx::SequenceProto& proto);
absl::StatusOr<Value> FromOptional(const onnx::OptionalProto& proto);

absl::StatusOr<Value> FromTensor(const onnx::TensorProto& proto) {
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto));
  return Value(std::move(tensor));
}

absl::StatusOr<Value> FromSparse(const onnx::SparseTensorProto& proto) {
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, TensorFromSparseProto(proto));
  return Value(std::move(tensor));
}

template <typename Keys>
absl::StatusOr<Value> FromKeys(const Keys& keys, const SequenceData& values) {
  if (static_cast<size_t>(keys.size()) != values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a map has ", keys.size(), " keys and ", values.size(), " values"));
  }
  std::map<typename Keys::value_type, Tensor> map;
  for (int i = 0; i < keys.size(); ++i) {
    const Value& value = values[static_cast<size_t>(i)];
    if (!value.is_tensor()) return absl::InvalidArgumentError("a map's value is not a tensor");
    map.emplace(keys.Get(i), value.tensor());
  }
  return Value(MapData(std::move(map)));
}

absl::StatusOr<Value> FromMap(const onnx::MapProto& proto) {
  ONWARD_ASSIGN_OR_RETURN(const Value values, FromSequence(proto.values()));
  if (proto.string_keys_size() > 0) return FromKeys(proto.string_keys(), values.sequence());
  return FromKeys(proto.keys(), values.sequence());
}

template <typename Protos, typename Convert>
absl::Status AppendAll(const Protos& protos, Convert convert, SequenceData& sequence) {
  for (const auto& proto : protos) {
    ONWARD_ASSIGN_OR_RETURN(Value value, convert(proto));
    sequence.push_back(std::move(value));
  }
  return absl::OkStatus();
}

// One of the lists is filled: that of elem_type.
absl::StatusOr<Value> FromSequence(const onnx::SequenceProto& proto) {
  SequenceData sequence;
  ONWARD_RETURN_IF_ERROR(AppendAll(proto.tensor_values(), FromTensor, sequence));
  ONWARD_RETURN_IF_ERROR(AppendAll(proto.sparse_tensor_values(), FromSparse, sequence));
  ONWARD_RETURN_IF_ERROR(AppendAll(proto.sequence_values(), FromSequence, sequence));
  ONWARD_RETURN_IF_ERROR(AppendAll(proto.map_values(), FromMap, sequence));
  ONWARD_RETURN_IF_ERROR(AppendAll(proto.optional_values(), FromOptional, sequence));
  return Value(std::move(sequence));
}

absl::StatusOr<Value> FromOptional(const onnx::OptionalProto& proto) {
  if (proto.has_tensor_value()) return FromTensor(proto.tensor_value());
  if (proto.has_sparse_tensor_value()) return FromSparse(proto.sparse_tensor_value());
  if (proto.has_sequence_value()) return FromSequence(proto.sequence_value());
  if (proto.has_map_value()) return FromMap(proto.map_value());
  if (proto.has_optional_value()) return FromOptional(proto.optional_value());
  return Value();
}

template <typename Proto, typename Convert>
absl::StatusOr<Value> ReadAs(const std::string& path, Convert convert) {
  ONWARD_ASSIGN_OR_RETURN(const auto file, files::MappedFile::Open(path));
  const std::string_view bytes = file->bytes();
  Proto proto;
  if (bytes.size() > INT32_MAX ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is not a serialized ", Proto().GetTypeName()));
  }
  absl::StatusOr<Value> value = convert(proto);
  if (!value.ok()) return Annotate(value.status(), absl::StrCat("'", path, "':"));
  return value;
}

}  // namespace

absl::StatusOr<Value> ReadValueFile(const std::string& path, const Type& expected) {
  switch (expected.kind) {
    case Type::Kind::kUnknown:
    case Type::Kind::kTensor:
      return ReadAs<onnx::TensorProto>(path, FromTensor);
    case Type::Kind::kSparseTensor:
      return ReadAs<onnx::SparseTensorProto>(path, FromSparse);
    case Type::Kind::kSequence:
      return ReadAs<onnx::SequenceProto>(path, FromSequence);
    case Type::Kind::kOptional:
      return ReadAs<onnx::OptionalProto>(path, FromOptional);
    case Type::Kind::kMap:
      return ReadAs<onnx::MapProto>(path, FromMap);
  }
  return absl::InternalError("no such kind of type");
}

absl::StatusOr<Tensor> ReadTensorFile(const std::string& path) {
  ONWARD_ASSIGN_OR_RETURN(Value value, ReadAs<onnx::TensorProto>(path, FromTensor));
  return value.tensor();
}

}  // namespace onward::onnx_io
