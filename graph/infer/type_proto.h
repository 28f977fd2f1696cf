// Types and attributes as ONNX's protobuf messages, for its inference functions and for import and
// export.
#pragma once

#include <string_view>

#include "onward/attribute.h"
#include "onward/type.h"

namespace onnx {
class AttributeProto;
class TensorProto;
class TypeProto;
}  // namespace onnx

namespace onward {

// Dims with a negative value or an empty parameter are unknown; a tensor type without a known
// element type is Type::Kind::kUnknown. Parameters are taken as they stand.
Type TypeFromProto(const onnx::TypeProto& proto);
void TypeToProto(const Type& type, onnx::TypeProto* proto);

// Tensors of more elements than this are handed to inference as dtype and dims only.
inline constexpr int64_t kMaxInferredElements = 1024;

// Elements are left out above kMaxInferredElements.
void SmallTensorToProto(const Tensor& tensor, onnx::TensorProto* proto);
void AttributeToInferenceProto(std::string_view name, const Attribute& attribute,
                               onnx::AttributeProto* proto);

}  // namespace onward
