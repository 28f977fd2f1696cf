// TensorProto <-> Tensor, all storage forms and dtypes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/base/tensor.h"

namespace onnx {
class TensorProto;
class SparseTensorProto;
}  // namespace onnx

namespace onward {

// Where external data may be read from. An empty directory refuses all.
struct ExternalDataRoot {
  std::string directory;
  // When the proto's bytes live as long as this owner, raw_data is used in place where it is
  // aligned enough.
  std::shared_ptr<void> owner;
};

// Validates before it allocates: dims, sizes of the data against dims, offsets against the file.
// InvalidArgument otherwise.
absl::StatusOr<Tensor> TensorFromProto(const onnx::TensorProto& proto,
                                       const ExternalDataRoot& root = {});
// The dense equivalent.
absl::StatusOr<Tensor> TensorFromSparseProto(const onnx::SparseTensorProto& proto,
                                             const ExternalDataRoot& root = {});
void TensorToProto(const Tensor& tensor, std::string_view name, onnx::TensorProto* proto);

// Serialized TensorProto files (the test data sets of the standard).
absl::StatusOr<Tensor> ReadTensorFile(const std::string& path);

}  // namespace onward
