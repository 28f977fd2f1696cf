// TensorProto <-> Tensor, all storage forms and dtypes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "onward/tensor.h"
#include "onward/type.h"
#include "onward/value.h"

namespace onnx {
class TensorProto;
class SparseTensorProto;
}  // namespace onnx

namespace onward::onnx_io {

class ExternalFiles;

// The places where the bytes of a tensor may be besides the proto itself.
struct TensorSource {
  // Files that external data may name; null refuses external data.
  ExternalFiles* files = nullptr;
  // Large raw data taken out of the proto (see onnx_io/payloads.h); the proto's `segment` is then a
  // range of these bytes. Empty: segments are refused, as in any proto that was not made here.
  std::string_view payloads;
  // Keeps `payloads` alive; null: they are copied.
  std::shared_ptr<void> owner;
  // True if `payloads` is a mapping, whose pages may be released once they are copied.
  bool mapped = false;
  int64_t max_rank = 64;
  // True if external data is read into memory of the tensor's own instead of mapped.
  bool read_files = false;
  // Gives a tensor without memory where external data cannot be opened.
  bool allow_missing_files = false;
};

// The dtype of a TensorProto.DataType; InvalidArgument for numbers outside the standard.
absl::StatusOr<DType> DTypeFromProto(int32_t data_type);

// Validates before it allocates: dims, sizes of the data against dims, offsets against the file.
// Bytes of mappings that are aligned to kTensorAlignment are used in place. InvalidArgument,
// NotFound, Unimplemented.
absl::StatusOr<Tensor> TensorFromProto(const onnx::TensorProto& proto,
                                       const TensorSource& source = {});
// The dense equivalent. Indices must ascend and lie within dims; a dense size out of proportion to
// what is stored is refused.
absl::StatusOr<Tensor> TensorFromSparseProto(const onnx::SparseTensorProto& proto,
                                             const TensorSource& source = {});
void TensorToProto(const Tensor& tensor, std::string_view name, onnx::TensorProto* proto);

// Serialized protos in files (the test data sets of the standard). The kind of `expected` says
// which message the file holds: TensorProto, SequenceProto, OptionalProto or MapProto; an unknown
// kind is read as a tensor.
absl::StatusOr<Tensor> ReadTensorFile(const std::string& path);
absl::StatusOr<Value> ReadValueFile(const std::string& path, const Type& expected);

}  // namespace onward::onnx_io
