// The running statistics of BatchNormalizations computed anew, for weights that were averaged.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onward/graph.h"
#include "onward/session.h"

namespace onward::training {

// For a model in training mode whose updates are statistics of the batch
// (TrainingModeOptions::batch_statistics): those of BatchNormalizations become outputs
// "statistic/<name>", and nothing else stays. Empty: the model has none.
absl::StatusOr<std::vector<std::string>> KeepBatchStatistics(Model& model);

// The mean over batches of what KeepBatchStatistics() gives.
class StatisticsMean {
 public:
  void Add(const Session::Outputs& outputs);
  std::map<std::string, Tensor> Means() const;  // by the names of the running statistics

 private:
  struct Mean {
    DType dtype;
    Dims dims;
    std::vector<double> values;
  };
  int64_t batches_ = 0;
  std::map<std::string, Mean> means_;
};

}  // namespace onward::training
