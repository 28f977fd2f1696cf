#include "onward/data_loader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "onward/status.h"
#include "training/data/loader.h"

namespace onward {
namespace {

class LoaderOfBatches : public DataLoader {
 public:
  explicit LoaderOfBatches(std::unique_ptr<training::Loader> loader) : loader_(std::move(loader)) {}

  int64_t batches_per_epoch() const override { return loader_->batches_per_epoch(); }
  absl::StatusOr<training::Batch> Next() override { return loader_->Next(); }
  absl::Status Seek(int64_t epoch, int64_t batch) override {
    if (epoch < 0 || batch < 0 || batch >= batches_per_epoch()) {
      return absl::OutOfRangeError(absl::StrCat("there is no batch ", batch, " of epoch ", epoch,
                                                ": an epoch has ", batches_per_epoch()));
    }
    loader_->Seek(epoch, batch);
    return absl::OkStatus();
  }
  int64_t epoch() const override { return loader_->position().epoch; }
  int64_t batch() const override { return loader_->position().batch; }

 private:
  const std::unique_ptr<training::Loader> loader_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DataLoader>> DataLoader::Create(std::shared_ptr<const Dataset> data,
                                                               const DataLoaderOptions& options) {
  if (data == nullptr) return absl::InvalidArgumentError("DataLoader: no data set is given");
  training::LoaderOptions made;
  made.batch_size = options.batch_size;
  made.shuffle = options.shuffle;
  made.drop_last = options.drop_last;
  made.seed = options.seed;
  made.workers = options.workers;
  made.prefetch = options.prefetch;
  made.skip_broken = options.skip_broken;
  made.pad = training::PadsOf(*data, options.pad);
  made.weights = options.weights;
  made.lengths = options.lengths;
  ONWARD_ASSIGN_OR_RETURN(std::unique_ptr<training::Loader> loader,
                          training::Loader::Create(std::move(data), made));
  return std::make_unique<LoaderOfBatches>(std::move(loader));
}

}  // namespace onward
