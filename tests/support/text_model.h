// Models in ONNX's text syntax, for tests of what passes do to graphs.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"

namespace onward::testing {

// Parses `<ir_version: 10, opset_import: ["" : 28]> name (inputs) => (outputs) {...}` and imports
// it. A text that does not begin with '<' is of that version and opset.
absl::StatusOr<Model> ModelFromText(std::string text);

}  // namespace onward::testing
