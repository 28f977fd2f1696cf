// Batches of a data set, read ahead by worker threads: for loops of your own (StepwiseTrainer).
//
//   ONWARD_ASSIGN_OR_RETURN(auto loader, onward::DataLoader::Create(data, {.batch_size = 64}));
//   for (int64_t i = 0; i < epochs * loader->batches_per_epoch(); ++i) {
//     ONWARD_ASSIGN_OR_RETURN(const onward::DataLoader::Batch batch, loader->Next());
//   }
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/dataset.h"
#include "onward/tensor.h"

namespace onward {

struct DataLoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  // a last batch that is not full
  uint64_t seed = 0;       // of the order and of Dataset::Read's randomness
  int workers = 1;         // 0: Next reads
  int prefetch = 4;        // batches that are ready ahead
  // Broken examples (DataLoss) are left out in place of being an error; their batch is smaller.
  bool skip_broken = false;
  // Fields whose dims differ, and what fills them up to the largest dims of the batch. Where a
  // field is not named, examples that differ are an error.
  std::map<std::string, double> pad = {};
  // One per example, none negative: examples are drawn with replacement in place of `shuffle`, each
  // as often as its share of the weights.
  std::vector<double> weights = {};
  // One per example: those of about equal lengths make a batch, so that little is padded. Within
  // every 50 batches of shuffled or drawn examples; then the batches are shuffled.
  std::vector<int64_t> lengths = {};
};

// The order is a function of seed and epoch. Not thread-safe.
class DataLoader {
 public:
  using Batch = std::map<std::string, Tensor>;  // by field: [batch, ...]

  // InvalidArgument: an option that is out of range, or no batch is full where drop_last asks so.
  static absl::StatusOr<std::unique_ptr<DataLoader>> Create(std::shared_ptr<const Dataset> data,
                                                            const DataLoaderOptions& options);
  virtual ~DataLoader() = default;

  virtual int64_t batches_per_epoch() const = 0;
  // The next batch; epochs follow each other. After an error, which is the data's, the next call
  // returns the batch that follows.
  virtual absl::StatusOr<Batch> Next() = 0;
  // Makes Next return batch `batch` of epoch `epoch`, both counted from 0. OutOfRange: there is no
  // such batch.
  virtual absl::Status Seek(int64_t epoch, int64_t batch) = 0;
  // The place of the batch that Next returns: Seek in another loader continues from there.
  virtual int64_t epoch() const = 0;
  virtual int64_t batch() const = 0;
};

}  // namespace onward
