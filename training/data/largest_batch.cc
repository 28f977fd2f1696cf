#include "training/data/largest_batch.h"

#include <algorithm>

#include "graph/base/status.h"

namespace onward {
namespace {

constexpr int64_t kMostExamples = 50000;

// Lengthens `dims`, of a batch, to the longest of the field's examples.
absl::Status Lengthen(const Dataset& data, size_t field, Dims& dims) {
  const int64_t every = 1 + (data.size() - 1) / kMostExamples;
  for (int64_t i = 0; i < data.size(); i += every) {
    const absl::StatusOr<Tensor> example = data.ReadField(i, field);
    if (absl::IsDataLoss(example.status())) continue;
    if (!example.ok()) return example.status();
    for (size_t axis = 0; axis + 1 < dims.size() && axis < example->dims().size(); ++axis)
      dims[axis + 1] = std::max(dims[axis + 1], example->dims()[axis]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Batch> LargestBatch(const Dataset& data, const DataConfig& config,
                                   const Batch& batch) {
  Batch largest;
  for (const auto& [name, tensor] : batch) {
    Dims dims(tensor.dims().begin(), tensor.dims().end());
    if (config.pad().contains(name)) {
      ONWARD_ASSIGN_OR_RETURN(const size_t field, FindField(data, name));
      ONWARD_RETURN_IF_ERROR(Lengthen(data, field, dims));
    }
    largest[name] = Tensor::Wrap(tensor.dtype(), dims, nullptr, nullptr);
  }
  return largest;
}

int64_t BatchBytes(const Batch& batch) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : batch) bytes += tensor.byte_size();
  return bytes;
}

}  // namespace onward
