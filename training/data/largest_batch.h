// The batch of a data set that needs the most memory.
#pragma once

#include "absl/status/statusor.h"
#include "training/data/loader.h"

namespace onward {

// Dtypes and dims of `batch`, of `data`, where fields that `pad` names are as long as the longest
// example: an epoch has such a batch. The tensors have no elements in memory. Of very many examples
// an even share is looked at. Errors as Dataset::ReadField, broken examples (DataLoss) apart.
absl::StatusOr<Batch> LargestBatch(const Dataset& data, const DataConfig& config,
                                   const Batch& batch);

// Bytes of its elements.
int64_t BatchBytes(const Batch& batch);

}  // namespace onward
