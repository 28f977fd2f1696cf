#include "training/data/given_batches.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace onward::training {
namespace {

// Names the rows of a batch; nobody reads it.
class GivenRows : public Dataset {
 public:
  int64_t size() const override { return 0; }
  const std::vector<Field>& fields() const override { return fields_; }
  absl::StatusOr<std::vector<Tensor>> Read(int64_t, uint64_t) const override {
    return absl::UnimplementedError("the program has the batches itself");
  }
  std::string Place(int64_t index, uint64_t batch) const override {
    return absl::StrCat("row ", index, " of batch ", batch);
  }

 private:
  std::vector<Field> fields_;
};

}  // namespace

GivenBatches::GivenBatches(int ranks) : ranks_(ranks) {
  places_.data = std::make_shared<GivenRows>();
}

void GivenBatches::Give(absl::Span<const Batch> batches, std::vector<BatchSlice> slices) {
  batches_ = batches;
  slices_ = std::move(slices);
  next_ = 0;
}

absl::StatusOr<Batch> GivenBatches::Next() {
  if (next_ >= batches_.size()) return absl::OutOfRangeError("the step has no other batch");
  const int64_t rows = slices_[next_].rows;
  places_.rows.clear();
  for (int64_t row = 0; row < rows; ++row) places_.rows.push_back({row, next_});
  const Batch& batch = batches_[next_++];
  if (next_ == batches_.size()) ++step_;
  return batch;
}

}  // namespace onward::training
