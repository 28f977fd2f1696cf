// Data sets made of others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "training/data/dataset.h"

namespace onward {

// Examples of tensors in memory: row i of each. All have as many rows. `path`: of their file, for
// messages.
absl::StatusOr<std::shared_ptr<const Dataset>> TensorDataset(
    std::vector<std::pair<std::string, Tensor>> fields, std::string path = "");

// One after the other. InvalidArgument: fields differ.
absl::StatusOr<std::shared_ptr<const Dataset>> Concatenate(
    std::vector<std::shared_ptr<const Dataset>> parts);

// The examples `indices` of `data`, in that order. OutOfRange: an index that `data` does not have.
absl::StatusOr<std::shared_ptr<const Dataset>> Subset(std::shared_ptr<const Dataset> data,
                                                      std::vector<int64_t> indices);

// A random split: parts of the given sizes, disjoint. InvalidArgument: the sizes are negative or
// more than there is.
absl::StatusOr<std::vector<std::shared_ptr<const Dataset>>> RandomSplit(
    const std::shared_ptr<const Dataset>& data, const std::vector<int64_t>& sizes, uint64_t seed);

using Example = std::vector<Tensor>;

// Every example through `map`, which is called from many threads at once and returns one tensor for
// each of `fields`. `random` is that of Dataset::Read.
std::shared_ptr<const Dataset> Map(
    std::shared_ptr<const Dataset> data, std::vector<Field> fields,
    std::function<absl::StatusOr<Example>(Example example, uint64_t random)> map);

// The examples that `keep` says true of. Reads all examples once, here; broken ones (DataLoss) are
// kept, for the loader to report.
absl::StatusOr<std::shared_ptr<const Dataset>> Filter(
    std::shared_ptr<const Dataset> data, const std::function<bool(const Example&)>& keep);

}  // namespace onward
