#include "onnx_io/type_proto.h"

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/tensor_proto.h"

namespace onward {
namespace {

// `proto`: TypeProto.Tensor or TypeProto.SparseTensor.
template <typename TensorTypeProto>
absl::StatusOr<Type> FromTensorProto(const TensorTypeProto& proto, Type::Kind kind,
                                     int64_t max_rank) {
  Type type;
  type.kind = kind;
  // Some exporters leave the element type of an intermediate value open.
  if (proto.elem_type() != onnx::TensorProto::UNDEFINED) {
    ONWARD_ASSIGN_OR_RETURN(type.dtype, DTypeFromProto(proto.elem_type()));
  } else {
    return Type();
  }
  if (!proto.has_shape()) return type;
  if (proto.shape().dim_size() > max_rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", proto.shape().dim_size(), " is above the limit of ", max_rank));
  }
  type.shape.emplace();
  for (const auto& dim : proto.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      type.shape->push_back(dim.dim_value());
    } else if (dim.has_dim_param() && !dim.dim_param().empty()) {
      type.shape->push_back(Dim::Symbol(dim.dim_param()));
    } else {
      type.shape->emplace_back();
    }
  }
  return type;
}

template <typename TensorTypeProto>
void ToTensorProto(const Type& type, TensorTypeProto* proto) {
  proto->set_elem_type(static_cast<int32_t>(type.dtype));
  if (!type.shape) return;
  proto->mutable_shape();
  for (const Dim& dim : *type.shape) {
    auto* to = proto->mutable_shape()->add_dim();
    if (dim.known()) to->set_dim_value(dim.value());
    if (dim.symbolic()) to->set_dim_param(dim.expression());
  }
}

}  // namespace

absl::StatusOr<Type> TypeFromProto(const onnx::TypeProto& proto, int64_t max_rank) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      return FromTensorProto(proto.tensor_type(), Type::Kind::kTensor, max_rank);
    case onnx::TypeProto::kSparseTensorType:
      return FromTensorProto(proto.sparse_tensor_type(), Type::Kind::kSparseTensor, max_rank);
    case onnx::TypeProto::kSequenceType: {
      ONWARD_ASSIGN_OR_RETURN(Type element,
                              TypeFromProto(proto.sequence_type().elem_type(), max_rank));
      return Type::Sequence(std::move(element));
    }
    case onnx::TypeProto::kOptionalType: {
      ONWARD_ASSIGN_OR_RETURN(Type element,
                              TypeFromProto(proto.optional_type().elem_type(), max_rank));
      return Type::Optional(std::move(element));
    }
    case onnx::TypeProto::kMapType: {
      Type type;
      type.kind = Type::Kind::kMap;
      ONWARD_ASSIGN_OR_RETURN(type.dtype, DTypeFromProto(proto.map_type().key_type()));
      ONWARD_ASSIGN_OR_RETURN(Type value, TypeFromProto(proto.map_type().value_type(), max_rank));
      type.element = std::make_shared<Type>(std::move(value));
      return type;
    }
    case onnx::TypeProto::kOpaqueType:
      return absl::UnimplementedError("opaque types are not supported");
    case onnx::TypeProto::VALUE_NOT_SET:
      return Type();
  }
  return Type();
}

void TypeToProto(const Type& type, onnx::TypeProto* proto) {
  switch (type.kind) {
    case Type::Kind::kUnknown:
      return;
    case Type::Kind::kTensor:
      return ToTensorProto(type, proto->mutable_tensor_type());
    case Type::Kind::kSparseTensor:
      return ToTensorProto(type, proto->mutable_sparse_tensor_type());
    case Type::Kind::kSequence:
      if (type.element)
        TypeToProto(*type.element, proto->mutable_sequence_type()->mutable_elem_type());
      return;
    case Type::Kind::kOptional:
      if (type.element)
        TypeToProto(*type.element, proto->mutable_optional_type()->mutable_elem_type());
      return;
    case Type::Kind::kMap:
      proto->mutable_map_type()->set_key_type(static_cast<int32_t>(type.dtype));
      if (type.element) TypeToProto(*type.element, proto->mutable_map_type()->mutable_value_type());
      return;
  }
}

}  // namespace onward
