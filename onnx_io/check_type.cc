#include "onnx_io/check_type.h"

#include "absl/strings/str_cat.h"
#include "graph/infer/type_proto.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/tensor_proto.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

// `proto`: TypeProto.Tensor or TypeProto.SparseTensor.
template <typename Proto>
absl::Status CheckTensorType(const Proto& proto, int64_t max_rank) {
  // Some exporters leave the element type of an intermediate value open.
  if (proto.elem_type() != onnx::TensorProto::UNDEFINED) {
    ONWARD_RETURN_IF_ERROR(DTypeFromProto(proto.elem_type()).status());
  }
  if (proto.shape().dim_size() <= max_rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", proto.shape().dim_size(), " is above the limit of ", max_rank));
}

absl::Status CheckType(const onnx::TypeProto& proto, int64_t max_rank) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType:
      return CheckTensorType(proto.tensor_type(), max_rank);
    case onnx::TypeProto::kSparseTensorType:
      return CheckTensorType(proto.sparse_tensor_type(), max_rank);
    case onnx::TypeProto::kSequenceType:
      return CheckType(proto.sequence_type().elem_type(), max_rank);
    case onnx::TypeProto::kOptionalType:
      return CheckType(proto.optional_type().elem_type(), max_rank);
    case onnx::TypeProto::kMapType:
      ONWARD_RETURN_IF_ERROR(DTypeFromProto(proto.map_type().key_type()).status());
      return CheckType(proto.map_type().value_type(), max_rank);
    case onnx::TypeProto::kOpaqueType:
      return absl::UnimplementedError("opaque types are not supported");
    case onnx::TypeProto::VALUE_NOT_SET:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Type> CheckedTypeFromProto(const onnx::TypeProto& proto, int64_t max_rank) {
  ONWARD_RETURN_IF_ERROR(CheckType(proto, max_rank));
  return TypeFromProto(proto);
}

}  // namespace onward::onnx_io
