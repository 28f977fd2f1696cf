// Checks what a caller feeds against what the model declares.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/interface.h"
#include "onward/kernel.h"
#include "onward/value.h"

namespace onward::executors {

// Values in the model's order. InvalidArgument: a missing input, an unknown name (with the closest
// one).
absl::StatusOr<std::vector<Value>> OrderInputs(const std::vector<ValueInfo>& declared,
                                               const std::map<std::string, Value>& named);

// Kinds, dtypes, ranks and known dims; DimNames looks at the names of dims.
absl::Status CheckInputs(const std::vector<ValueInfo>& declared,
                         absl::Span<const SlotValue> inputs);

}  // namespace onward::executors
