// The batches of a step that the program makes itself.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "training/data/batch_source.h"

namespace onward::training {

class GivenBatches : public BatchSource {
 public:
  explicit GivenBatches(int ranks);

  // The batches of the coming step, which outlive it, and which rows of all ranks' batch each is:
  // as many slices as batches.
  void Give(absl::Span<const Batch> batches, std::vector<BatchSlice> slices);

  int ranks() const override { return ranks_; }
  // Each step has an epoch of its own.
  Position position() const override { return {step_, static_cast<int64_t>(next_)}; }
  // OutOfRange: all were given.
  absl::StatusOr<Batch> Next() override;
  // Messages name "row 3 of batch 0".
  const BatchPlaces& places() const override { return places_; }
  const BatchSlice& slice() const override { return slices_[next_ - 1]; }

 private:
  const int ranks_;
  absl::Span<const Batch> batches_;
  std::vector<BatchSlice> slices_;
  size_t next_ = 0;
  int64_t step_ = 0;
  BatchPlaces places_;
};

}  // namespace onward::training
