// Writes a Model as ONNX. The result passes onnx.checker with full check; `onward` ops become
// model-local functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/graph.h"

namespace onward {

struct ExportOptions {
  // Initializers of at least this many bytes go to `<file>.data` beside the model; negative: never
  // (unless the file would pass 2 GiB).
  int64_t external_data_threshold = -1;
};

absl::StatusOr<std::string> ExportBytes(const Model& model, const ExportOptions& options = {});
// Written to a temporary file beside `path` and renamed, so that `path` is never half a model.
absl::Status ExportFile(const Model& model, const std::string& path,
                        const ExportOptions& options = {});

}  // namespace onward
