// The running statistics of BatchNormalizations computed anew, for weights that were averaged.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "onward/graph.h"
#include "onward/value.h"

namespace onward::training {

// For a model in training mode whose updates are statistics of the batch
// (TrainingModeOptions::batch_statistics): those of BatchNormalizations stay as its only outputs,
// and stop being updates. Returns the names of the running ones, one an output.
absl::StatusOr<std::vector<std::string>> KeepBatchStatistics(Model& model);

// The mean over batches of what KeepBatchStatistics() gives.
class StatisticsMean {
 public:
  explicit StatisticsMean(std::vector<std::string> names) : names_(std::move(names)) {}
  void Add(const std::vector<Value>& outputs);
  std::map<std::string, Tensor> Means() const;  // by the names of the running statistics

 private:
  struct Mean {
    DType dtype;
    Dims dims;
    std::vector<double> values;
  };
  int64_t batches_ = 0;
  std::vector<std::string> names_;
  std::vector<Mean> means_;
};

}  // namespace onward::training
