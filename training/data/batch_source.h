// The source of the batches of a training's steps.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "onward/kernel.h"
#include "training/data/places.h"

namespace onward::training {

// Not thread-safe.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // The number of ranks that share each batch.
  virtual int ranks() const = 0;
  // The place of the batch that Next() returns. A step takes batches of one epoch alone.
  struct Position {
    int64_t epoch = 0;
    int64_t batch = 0;
  };
  virtual Position position() const = 0;
  virtual absl::StatusOr<Batch> Next() = 0;
  // The places that the examples of the batch that Next() returned last come from.
  virtual const BatchPlaces& places() const = 0;
  // Which rows of a batch those are that Next() returned. None, where a batch has fewer rows than
  // there are ranks: then it returned one row, which counts for nothing.
  virtual const BatchSlice& slice() const = 0;
};

}  // namespace onward::training
