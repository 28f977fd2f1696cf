// Reads ONNX models of IR 3-14 and opsets 1-28 into a Model at the one opset used inside. Old
// opsets are upgraded here, at the border.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/graph.h"

namespace onward {

// The start of a training: a graph without inputs, and which of its outputs are the first values of
// which initializers of the model it came with.
struct TrainingInitialization {
  struct Binding {
    std::string initializer, output;
  };
  Model model;
  std::vector<Binding> bindings;
};

// Limits on untrusted models; every refusal names the limit it met.
struct ImportOptions {
  int max_subgraph_depth = 32;
  int max_function_depth = 64;    // calls within calls
  int64_t max_nodes = 1'000'000;  // after expansion of functions
  int64_t max_rank = 64;
  int64_t max_name_bytes = 64 * 1024;
  // The bytes that the model's messages and strings, without the data of tensors, may take when
  // parsed; 0: 52 MB and twice the model's size.
  int64_t max_parsed_bytes = 0;
  // Put the algorithm of the model's TrainingInfoProto on top of its graph, with the bindings that
  // carry state from step to step. Without, it is left out, as the standard has it for inference.
  bool training = false;
  // With `training`: gets the initialization graphs (see TrainingSession::Initialize), without
  // which a model that has some is refused. What they set becomes inputs with defaults.
  std::vector<TrainingInitialization>* initializations = nullptr;
  // Keep what this build has no kernel or schema for, so that a model can be inspected: unknown ops
  // become nodes without schema instead of errors, and external data may be missing (such constants
  // stay without memory).
  bool for_inspection = false;
  // Read files instead of mapping them, so that they may be overwritten or cut off while the model
  // lives. Weights then take memory from the beginning.
  bool copy_weights = false;
  // Take every open dim of every input for a size of its own, whatever its name.
  bool separate_dim_names = false;
  // Gets the names of the graph's dense initializers, in the file's order: weights. Where none of
  // them holds floats, those of Constant nodes that do: Paddle's exporter writes weights so.
  std::vector<std::string>* initializers = nullptr;
  // Gets the opsets that the file imports, by domain ("" is ai.onnx). Model::opsets are those after
  // the upgrade.
  std::map<std::string, int64_t>* opsets = nullptr;
};

// `path` is mapped; initializers stay in the mapping until a kernel packs them. External data must
// lie beneath the model's directory (logical or real). Reports all problems of a model at once,
// each with node name and op: InvalidArgument (not a valid model), Unimplemented (valid, not
// supported), NotFound (no such file). Thread-safe.
absl::StatusOr<Model> ImportFile(const std::string& path, const ImportOptions& options = {});

// The metadata of the model alone, without a look at its graph. Errors as ImportFile.
absl::StatusOr<Metadata> ReadMetadata(const std::string& path);

// The same from bytes; external data is refused unless `directory` (where its files lie) is given.
absl::StatusOr<Model> ImportBytes(std::string_view bytes, const std::string& directory = "",
                                  const ImportOptions& options = {});

}  // namespace onward
