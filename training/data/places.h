// Batches, and where their examples are from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "onward/dataset.h"
#include "onward/tensor.h"

namespace onward::training {

using Batch = std::map<std::string, Tensor>;  // field -> [batch, ...]

// The places that the examples of a batch are from.
struct BatchPlaces {
  struct Row {
    int64_t index = 0;  // in the data set
    uint64_t random = 0;
  };
  std::shared_ptr<const Dataset> data;
  std::vector<Row> rows;
};

// `status` itself; or with the place of the example in its message, where it knows a bad element
// (graph/base/bad_element.h) that is one of a field of the batch.
absl::Status NamePlace(const absl::Status& status, const Batch& batch, const BatchPlaces& places);

// The first element of the batch that is NaN or infinite and the place of its example, such as
// "'x' of 'train.csv' line 12 is nan, at element 3 of 8"; "" where all are finite. Negative
// infinity counts as finite: masks hold it.
std::string NonFinitePlace(const Batch& batch, const BatchPlaces& places);

}  // namespace onward::training
