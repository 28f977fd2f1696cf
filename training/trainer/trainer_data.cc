// The data sets of a trainer and the loaders that make batches of them.
#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/dataset.h"
#include "onward/status.h"
#include "training/trainer/training_loop.h"

namespace onward::training {
namespace {

absl::StatusOr<std::shared_ptr<const Dataset>> Opened(const DataConfig& config,
                                                      std::shared_ptr<const Dataset> given,
                                                      const std::string& directory) {
  if (given == nullptr) return OpenDataset(config, directory);
  if (config.source_case() != DataConfig::SOURCE_NOT_SET)
    return absl::InvalidArgumentError(
        "the config names a source, and TrainerOptions has the data already");
  if (given->size() == 0) return absl::InvalidArgumentError("there are no examples");
  return given;
}

}  // namespace

absl::Status TrainingLoop::OpenData() {
  const std::string& directory =
      options_.data_directory.empty() ? options_.directory : options_.data_directory;
  const auto open = [&](const DataConfig& config, std::shared_ptr<const Dataset> given,
                        int64_t batch_size, bool training,
                        std::unique_ptr<Loader>& loader) -> absl::Status {
    ONWARD_ASSIGN_OR_RETURN(const auto data, Opened(config, std::move(given), directory));
    ONWARD_ASSIGN_OR_RETURN(LoaderOptions loading, OptionsOf(config, *data, training));
    loading.batch_size = batch_size;
    loading.seed = config_.seed();
    if (training) {
      loading.rank = rank();
      loading.ranks = ranks();
      fields_ = data->fields();
      data_ = data;
    }
    ONWARD_ASSIGN_OR_RETURN(loader, Loader::Create(data, loading));
    return absl::OkStatus();
  };
  ONWARD_RETURN_IF_ERROR(
      Annotate(open(config_.data(), options_.data, config_.batch_size(), true, loader_), "data:"));
  if (config_.accumulate() > loader_->batches_per_epoch()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "accumulate: a step of ", config_.accumulate(), " batches is more than the data have: ",
        loader_->batches_per_epoch(), " batches of ", config_.batch_size(), " in an epoch of ",
        data_->size(), " examples; lower accumulate or batch_size"));
  }
  if (!config_.has_evaluation()) return absl::OkStatus();
  const EvaluationConfig& evaluation = config_.evaluation();
  return Annotate(open(evaluation.data(), options_.evaluation_data,
                       evaluation.has_batch_size() ? evaluation.batch_size() : config_.batch_size(),
                       false, evaluation_loader_),
                  "evaluation.data:");
}

}  // namespace onward::training
