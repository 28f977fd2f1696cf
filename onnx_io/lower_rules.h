// The table of the way back: one row per change of an op's meaning that older opsets can say
// otherwise. What is not here and has a rule of the upgrade cannot be said before it.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "onward/graph.h"

namespace onward::onnx_io {

// `apply` turns a node with the meaning of version `until` into one with that of `until` - 1.
// Unimplemented says what the older version cannot express.
struct LowerRule {
  std::string_view op;
  int64_t until;
  absl::Status (*apply)(Graph& graph, NodeId id);
};

// Null where there is none.
const LowerRule* FindLowerRule(std::string_view op, int64_t until);

}  // namespace onward::onnx_io
