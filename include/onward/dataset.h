// Examples by index, for trainings (TrainerOptions::data): of files, of tensors in memory, or of a
// class of your own. What changes a data set is a Dataset around it (Subset, Map).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/data_config.pb.h"
#include "onward/tensor.h"
#include "onward/type.h"

namespace onward {

// One value of an example: "image" float[1, 28, 28], "label" int64. A dim that differs from example
// to example is symbolic: ParseDim("length").
struct Field {
  std::string name;
  Type type;
  std::vector<std::string> classes = {};  // names by number, where the elements are classes
  // Fills up examples whose dims differ to the largest of their batch, where the options of the
  // batches name no other value.
  std::optional<double> pad = std::nullopt;
};

// Thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;
  virtual const std::vector<Field>& fields() const = 0;
  // Example `index` of [0, size()), by field. `random` is the only source of randomness
  // (augmentation): equal numbers give equal examples. Errors name the file and the line or the
  // record. DataLoss: this example is broken, others may be read.
  virtual absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t random) const = 0;
  // Field number `field` of the example alone, which may be much less work than all of it.
  virtual absl::StatusOr<Tensor> ReadField(int64_t index, size_t field) const;
  // The origin of example `index`, for messages: "'train.csv' line 12", "example 11".
  virtual std::string Place(int64_t index, uint64_t random) const;
};

// Position of a field; InvalidArgument lists the fields there are.
absl::StatusOr<size_t> FindField(const Dataset& data, std::string_view name);

// Opens what `config` names; relative paths are below `directory`. InvalidArgument, NotFound,
// DataLoss with file and line.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(const DataConfig& config,
                                                           const std::string& directory);

// --- made of others

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
