// Examples by index. A source of examples is a Dataset (training/data/<source>.cc); what changes
// one is a Dataset around another (subset, map); batches are made by a Loader.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/data_config.pb.h"
#include "onward/tensor.h"
#include "onward/type.h"

namespace onward {

// One value of an example: "image" float[1, 28, 28], "label" int64. A dim that differs from example
// to example is symbolic.
struct Field {
  std::string name;
  Type type;
  std::vector<std::string> classes = {};  // names by number, where the elements are classes
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
  // Where example `index` comes from, for messages: "'train.csv' line 12", "example 11".
  virtual std::string Place(int64_t index, uint64_t random) const;
};

// Position of a field; InvalidArgument lists the fields there are.
absl::StatusOr<size_t> FindField(const Dataset& data, std::string_view name);

// Opens what `config` names; relative paths are below `directory`. InvalidArgument, NotFound,
// DataLoss with file and line.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(const DataConfig& config,
                                                           const std::string& directory);

}  // namespace onward
