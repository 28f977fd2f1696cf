// The sizes of the batches that a training will have. They are known before it, as the order of a
// loader is a pure function of seed and epoch.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "training/data/loader.h"

namespace onward::training {

// A batch without elements in memory, and where it first comes; none: nowhere that is known.
struct SizedBatch {
  Batch batch;
  std::optional<Loader::Position> position;
};

struct BatchSizes {
  // No other batch is as large as one of these in every dim: one of them needs the most memory.
  std::vector<SizedBatch> largest;
  // A batch of other dims than those of `largest`, where there is one.
  std::optional<SizedBatch> other;
  int64_t kinds = 1;           // the number of different dims
  std::vector<int64_t> bytes;  // of the batches in their order, as far as they were looked at

  // The most that so many batches in a row take together.
  int64_t LargestBytesInARow(int64_t count) const;
};

// Measures the first `count` batches of a loader of `data` with `options`; `bytes` also counts
// the `ahead` ones that are read and not used. `first` is one of them and gives dtypes, and dims
// of fields that are not padded. Exact as long as the batches have at most 50000 different examples
// and 4 million in all; the rest of a longer training is taken to have a batch with the longest
// examples of every padded field together, of an even share of the data. Errors as
// Dataset::ReadField, broken examples (DataLoss) apart.
absl::StatusOr<BatchSizes> SizesOfBatches(const Dataset& data, const LoaderOptions& options,
                                          const Batch& first, int64_t count, int64_t ahead = 0);

}  // namespace onward::training
