// The parameters of a model, built of modules or imported: what is trained.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::nn {

// A float tensor of a model's state.
struct ParameterInfo {
  ValueId id;
  std::string name;
  Type type;           // of known dims
  std::string init;    // how it started, "" of an imported one
  std::string frozen;  // why it is not trained: "buffer", "frozen", ...; "" when it is
  std::string ground;  // what says whether it is trained, where that was asked
  bool trainable() const { return frozen.empty(); }
  bool buffer() const { return frozen == "buffer"; }
  int64_t count() const { return NumElements(*type.static_dims()); }
};

// In the graph's order. Of a model of modules: their parameters and buffers. Of another model:
// every float initializer, an input with a default too; running statistics of BatchNormalization
// are buffers, and numbers (rank 0) are not trained by themselves: exporters write constants of
// formulas as such.
std::vector<ParameterInfo> Parameters(const Model& model);

// Returns whether a BatchNormalization takes its mean or variance from the value, at once or
// through Identities (exporters write equal initializers once).
bool IsRunningStatistic(const Graph& graph, ValueId id);

// Marks parameters (in the metadata of their values, which a file keeps) as frozen or as trained.
// InvalidArgument: a pattern that names no parameter.
absl::Status Freeze(Model& model, absl::Span<const std::string> patterns);
absl::Status Unfreeze(Model& model, absl::Span<const std::string> patterns);

// Elements of all parameters that are not buffers, or of those that are trained.
int64_t CountParameters(absl::Span<const ParameterInfo> parameters, bool trainable_alone = false);

// A table with a line for each (name, shape, elements, trained or why not, how it started, what
// says so) and the sums.
std::string ParameterTable(absl::Span<const ParameterInfo> parameters);

}  // namespace onward::nn
