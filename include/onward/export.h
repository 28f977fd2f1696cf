// Writes a Model as ONNX. The result passes onnx.checker with full check; `onward` ops become
// model-local functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward {

struct ExportOptions {
  // Initializers of at least this many bytes go to `<file>.data` beside the model, or to
  // `<file>.2.data` where the model that is replaced has its own in the former; negative: never
  // (unless the file would pass 2 GiB).
  int64_t external_data_threshold = -1;
  // The opset of ai.onnx that the file imports, 11 to 28: ops that came later are written as their
  // function bodies. 0: the oldest from 21 on that will do (see lower_opset.h), so that other
  // runtimes can read it.
  int64_t opset = 0;
  // Ops of the domain `onward` stay as they are, for Onward alone to read.
  bool keep_onward_ops = false;
};

// ResourceExhausted above 2 GiB, which only a file with external data can hold; Unimplemented when
// a node does not fit the opset that is asked for, or an op of `onward` has no body to export.
absl::StatusOr<std::string> ExportBytes(const Model& model, const ExportOptions& options = {});
// Written to a temporary file beside `path` and renamed, so that `path` is never half a model, and
// never one whose external data are another's.
absl::Status ExportFile(const Model& model, const std::string& path,
                        const ExportOptions& options = {});

}  // namespace onward
