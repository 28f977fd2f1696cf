// TypeProto <-> Type.
#pragma once

#include "absl/status/statusor.h"
#include "graph/base/type.h"

namespace onnx {
class TypeProto;
}  // namespace onnx

namespace onward {

// Dims without value and name, and negative ones (some exporters' way to say so), are unknown. An
// unset proto is Type::Kind::kUnknown. Unimplemented for opaque types and 6-bit floats,
// InvalidArgument for other breaches and ranks above `max_rank`.
absl::StatusOr<Type> TypeFromProto(const onnx::TypeProto& proto, int64_t max_rank = 64);
void TypeToProto(const Type& type, onnx::TypeProto* proto);

}  // namespace onward
