// The dims that examples have before they are filled up to the largest of their batch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/dataset.h"

namespace onward::training {

// The dims of these fields of an example; empty: the example is broken. An example of several is
// read once as a whole, as fields are often made of each other (tokens, masks, types). Errors as
// Dataset::Read.
absl::StatusOr<std::vector<Dims>> DimsOfFields(const Dataset& data, absl::Span<const size_t> fields,
                                               int64_t index);

// The length of every example: the largest first dim of the fields in `pad`; 0: it is broken.
// InvalidArgument: no field is padded, or one that is not in the data.
absl::StatusOr<std::vector<int64_t>> LengthsOfExamples(const Dataset& data,
                                                       const std::map<std::string, double>& pad);

}  // namespace onward::training
