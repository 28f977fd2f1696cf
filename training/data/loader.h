// Batches of a data set, read ahead by worker threads. The order is a pure function of seed and
// epoch, so that a resumed training needs no more than (epoch, batch) to continue with the very
// same batches.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/dataset.h"
#include "onward/kernel.h"
#include "training/data/batch_source.h"

namespace onward::training {

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  // a last batch that is not full
  uint64_t seed = 0;       // of order and augmentation
  int workers = 1;         // 0: read by the caller
  int prefetch = 4;        // batches that are ready ahead
  // Broken examples (DataLoss) are left out and counted in place of being an error; their batch is
  // smaller.
  bool skip_broken = false;
  // Fields whose dims differ, and what fills them up to the largest dims of the batch. Where a
  // field is not named, examples that differ are an error.
  std::map<std::string, double> pad = {};
  // One per example, none negative: examples are drawn with replacement in place of `shuffle`, each
  // as often as its share of the weights.
  std::vector<double> weights = {};
  int64_t examples_per_epoch = 0;  // of those draws; 0: the size of the data set
  // One per example, of shuffled or drawn ones: batches are of about equal lengths (order.h).
  std::vector<int64_t> lengths = {};
  // Next() returns the rows of a batch that are this rank's share (Loader::slice).
  int rank = 0, ranks = 1;

  // A rank must know how long the longest row of all ranks is, or which ones are broken.
  bool reads_whole_batches() const { return ranks == 1 || skip_broken || !pad.empty(); }
};

// The rows of a batch of `rows` that are a rank's.
BatchSlice SliceOf(int rank, int ranks, int64_t rows);

// `named`, and what the data's fields say of those that it does not name (Field::pad).
std::map<std::string, double> PadsOf(const Dataset& data, std::map<std::string, double> named);

// The options that `config` states; `training` is the default of shuffle and drop_last. Weights and
// lengths are read from `data`.
absl::StatusOr<LoaderOptions> OptionsOf(const DataConfig& config, const Dataset& data,
                                        bool training);

// The number of examples in an epoch of a loader of `size` examples. The order is empty where it is
// that of the data.
int64_t ExamplesPerEpoch(int64_t size, const LoaderOptions& options);
int64_t BatchesPerEpoch(int64_t size, const LoaderOptions& options);
std::vector<int64_t> EpochOrder(int64_t size, const LoaderOptions& options, int64_t epoch);

// Not thread-safe. Batches count against the memory limit in force where the loader is made.
class Loader : public BatchSource {
 public:
  static absl::StatusOr<std::unique_ptr<Loader>> Create(std::shared_ptr<const Dataset> data,
                                                        const LoaderOptions& options);

  virtual const LoaderOptions& options() const = 0;
  int ranks() const override { return options().ranks; }
  virtual int64_t batches_per_epoch() const = 0;
  // Next() returns batch `batch` of epoch `epoch`. Whatever was read ahead is dropped.
  virtual void Seek(int64_t epoch, int64_t batch) = 0;
  // Stops reading ahead and frees what is ready, until the next Seek. Returns when no worker reads.
  virtual void Rest() = 0;
  // Batches that may be ready ahead, and how many of those are made at a time: each has its
  // examples beside it until it is put together.
  virtual int64_t read_ahead() const = 0;
  virtual int64_t made_at_a_time() const = 0;
  // The next batch; the epoch after follows the last one of an epoch by itself. Batches of broken
  // examples alone are passed over. After an error the next call returns the batch that follows.
  // Seek(position()) in another loader continues from here.
  absl::StatusOr<Batch> Next() override = 0;
  // Left out of the batches that Next() returned so far.
  virtual int64_t broken_examples() const = 0;
};

}  // namespace onward::training
