// TypeProto of an untrusted model -> Type.
#pragma once

#include "absl/status/statusor.h"
#include "onward/type.h"

namespace onnx {
class TypeProto;
}  // namespace onnx

namespace onward::onnx_io {

// Returns what TypeFromProto (graph/infer/type_proto.h) makes of the proto once its dtypes and
// ranks are found fit: Unimplemented for opaque types and 6-bit floats, InvalidArgument for unknown
// dtypes and ranks above `max_rank`.
absl::StatusOr<Type> CheckedTypeFromProto(const onnx::TypeProto& proto, int64_t max_rank);

}  // namespace onward::onnx_io
