#include "graph/infer/type_proto.h"

#include <memory>
#include <string>

#include "onnx/onnx_pb.h"

namespace onward {
namespace {

DType DTypeFromNumber(int number) {
  return number > 0 && number < kNumDTypes ? static_cast<DType>(number) : DType::kUndefined;
}

// `proto`: TypeProto::Tensor or TypeProto::SparseTensor.
template <typename Proto>
Type ShapedFromProto(Type::Kind kind, const Proto& proto) {
  Type type;
  type.dtype = DTypeFromNumber(proto.elem_type());
  if (type.dtype == DType::kUndefined) return type;
  type.kind = kind;
  if (!proto.has_shape()) return type;
  SymbolicDims dims;
  dims.reserve(static_cast<size_t>(proto.shape().dim_size()));
  for (const auto& dim : proto.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      dims.push_back(Dim(dim.dim_value()));
    } else if (dim.has_dim_param() && !dim.dim_param().empty()) {
      dims.push_back(Dim::Symbol(dim.dim_param()));
    } else {
      dims.emplace_back();
    }
  }
  type.shape = std::move(dims);
  return type;
}

template <typename Proto>
void ShapedToProto(const Type& type, Proto* proto) {
  proto->set_elem_type(static_cast<int>(type.dtype));
  if (!type.shape) return;
  auto* shape = proto->mutable_shape();
  for (const Dim& dim : *type.shape) {
    auto* added = shape->add_dim();
    if (dim.known()) added->set_dim_value(dim.value());
    if (dim.symbolic()) added->set_dim_param(dim.expression());
  }
}

Type Nested(Type::Kind kind, const onnx::TypeProto& element) {
  Type type;
  type.kind = kind;
  type.element = std::make_shared<Type>(TypeFromProto(element));
  return type;
}

}  // namespace

Type TypeFromProto(const onnx::TypeProto& proto) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      return ShapedFromProto(Type::Kind::kTensor, proto.tensor_type());
    case onnx::TypeProto::kSparseTensorType:
      return ShapedFromProto(Type::Kind::kSparseTensor, proto.sparse_tensor_type());
    case onnx::TypeProto::kSequenceType:
      return Nested(Type::Kind::kSequence, proto.sequence_type().elem_type());
    case onnx::TypeProto::kOptionalType:
      return Nested(Type::Kind::kOptional, proto.optional_type().elem_type());
    case onnx::TypeProto::kMapType: {
      Type type = Nested(Type::Kind::kMap, proto.map_type().value_type());
      type.dtype = DTypeFromNumber(proto.map_type().key_type());
      return type;
    }
    default:
      return {};
  }
}

void TypeToProto(const Type& type, onnx::TypeProto* proto) {
  const Type unknown;
  const Type& element = type.element ? *type.element : unknown;
  switch (type.kind) {
    case Type::Kind::kUnknown:
      return;
    case Type::Kind::kTensor:
      return ShapedToProto(type, proto->mutable_tensor_type());
    case Type::Kind::kSparseTensor:
      return ShapedToProto(type, proto->mutable_sparse_tensor_type());
    case Type::Kind::kSequence:
      return TypeToProto(element, proto->mutable_sequence_type()->mutable_elem_type());
    case Type::Kind::kOptional:
      return TypeToProto(element, proto->mutable_optional_type()->mutable_elem_type());
    case Type::Kind::kMap:
      proto->mutable_map_type()->set_key_type(static_cast<int>(type.dtype));
      return TypeToProto(element, proto->mutable_map_type()->mutable_value_type());
  }
}

void SmallTensorToProto(const Tensor& tensor, onnx::TensorProto* proto) {
  proto->set_data_type(static_cast<int>(tensor.dtype()));
  for (int64_t dim : tensor.dims()) proto->add_dims(dim);
  if (tensor.num_elements() > kMaxInferredElements || tensor.raw_data() == nullptr) return;
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.span<std::string>()) proto->add_string_data(text);
    return;
  }
  proto->set_raw_data(tensor.raw_data(), static_cast<size_t>(tensor.byte_size()));
}

namespace {

// One overload per kind of attribute.
struct AttributeWriter {
  onnx::AttributeProto* proto;

  void operator()(int64_t value) const {
    proto->set_type(onnx::AttributeProto::INT);
    proto->set_i(value);
  }
  void operator()(float value) const {
    proto->set_type(onnx::AttributeProto::FLOAT);
    proto->set_f(value);
  }
  void operator()(const std::string& value) const {
    proto->set_type(onnx::AttributeProto::STRING);
    proto->set_s(value);
  }
  void operator()(const Tensor& value) const {
    proto->set_type(onnx::AttributeProto::TENSOR);
    SmallTensorToProto(value, proto->mutable_t());
  }
  void operator()(const Type& value) const {
    proto->set_type(onnx::AttributeProto::TYPE_PROTO);
    TypeToProto(value, proto->mutable_tp());
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto->set_type(onnx::AttributeProto::INTS);
    for (int64_t value : values) proto->add_ints(value);
  }
  void operator()(const std::vector<float>& values) const {
    proto->set_type(onnx::AttributeProto::FLOATS);
    for (float value : values) proto->add_floats(value);
  }
  void operator()(const std::vector<std::string>& values) const {
    proto->set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) proto->add_strings(value);
  }
  void operator()(const std::vector<Tensor>& values) const {
    proto->set_type(onnx::AttributeProto::TENSORS);
    for (const Tensor& value : values) SmallTensorToProto(value, proto->add_tensors());
  }
  void operator()(const std::vector<Type>& values) const {
    proto->set_type(onnx::AttributeProto::TYPE_PROTOS);
    for (const Type& value : values) TypeToProto(value, proto->add_type_protos());
  }
};

}  // namespace

void AttributeToInferenceProto(std::string_view name, const Attribute& attribute,
                               onnx::AttributeProto* proto) {
  proto->set_name(std::string(name));
  std::visit(AttributeWriter{proto}, attribute);
}

}  // namespace onward
