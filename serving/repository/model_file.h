// The files that a model's configuration names.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "onward/tensor.h"

namespace onward::serving {

// The bytes of the file `name` in a model's directory, or in folders of it, links followed. `field`
// of the configuration is what messages begin with. InvalidArgument: a name that leads out of the
// directory, or a file of more than 64 MiB; NotFound: there is none.
absl::StatusOr<std::string> ReadModelFile(const std::string& directory, const std::string& name,
                                          const std::string& field);

// The tensor of such a file, whose bytes are those of the binary protocol: row by row, little
// endian, texts with their length before them. InvalidArgument: they are not.
absl::StatusOr<Tensor> ReadModelTensor(const std::string& directory, const std::string& name,
                                       const std::string& field, DType dtype, DimsView dims);

// A batch whose rows are all `row`.
absl::StatusOr<Tensor> RepeatRow(const Tensor& row, int64_t rows);

}  // namespace onward::serving
