// Checks that a run's inputs have the sizes that the names of their dims state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "onward/graph.h"
#include "onward/interface.h"
#include "onward/kernel.h"
#include "onward/session_options.h"

namespace onward::executors {

// The model's inputs as its user sees them.
std::vector<ValueInfo> InputsOf(const Graph& graph);

// The dims of a model's inputs that share names: the compiled program takes them for equal.
class DimNames {
 public:
  explicit DimNames(const std::vector<ValueInfo>& inputs);

  // Returns whether any two sizes depend on each other.
  bool any_shared() const { return !equal_.empty() || !expressions_.empty(); }

  // InvalidArgument names the first two sizes that disagree. The inputs fit their types otherwise.
  absl::Status Check(absl::Span<const SlotValue> inputs) const;

 private:
  struct Place {
    size_t input, axis;
  };
  struct Equal {
    Place first, second;
  };

  absl::Status Differ(Place place, int64_t size, const std::string& other) const;

  std::vector<ValueInfo> inputs_;
  std::vector<Equal> equal_;
  std::vector<Place> expressions_;                       // "past + 1"
  std::vector<std::pair<std::string, Place>> first_of_;  // symbol -> where it is first
};

// A copy of the graph, of which a program is made that takes nothing from names; none where the
// options do not let names differ, where no names are shared, and where the weights are too large
// to be kept a second time.
std::optional<Graph> SourceWithoutNames(const Graph& graph, const SessionOptions& options);

}  // namespace onward::executors
