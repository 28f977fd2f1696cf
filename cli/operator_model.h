// A model of one operator, for benchmarks.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward::cli {

// `shapes`: one per input, "128x768" (float32), "int64:4x8", or "int64:=1,2" for a constant.
// `attributes`: "axis=1", "pads=1,1,1,1", "mode=linear"; the schema says which kind each is.
absl::StatusOr<Model> OperatorModel(const std::string& op, const std::vector<std::string>& shapes,
                                    const std::vector<std::string>& attributes);

}  // namespace onward::cli
