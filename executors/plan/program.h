// A compiled graph: kernels chosen, weights packed, steps in order. Immutable; built once per model
// and per subgraph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "executors/provider.h"
#include "onward/explanation.h"
#include "onward/graph.h"
#include "onward/kernel.h"

namespace onward::executors {

// Slots are values by index: slot i is ValueId{i} of the program's compacted graph.
struct Slot {
  Tensor constant;  // empty for computed values and inputs
  bool is_constant = false;
  bool is_output = false;
  bool arena = false;  // a tensor whose elements need no constructor: may lie in an arena
  DType dtype = DType::kUndefined;
  uint8_t device = 0;  // index into Program::providers
  int32_t first = -1;  // step that makes it; -1: inputs, captures and constants
  int32_t last = -1;   // last step that reads it; num_steps for outputs
};

struct Step {
  NodeId node;
  std::unique_ptr<Kernel> kernel;
  std::string kernel_name;
  uint8_t device = 0;
  int32_t operands = 0;  // where its slot indices start in Program::operands: inputs, captures,
                         // then outputs; -1 is omitted
  int32_t num_inputs = 0;
  int32_t num_outputs = 0;
};

struct Program {
  Graph graph;
  std::vector<const ExecutionProvider*> providers;  // [0] is the host
  bool is_runnable = true;                          // false: it is only explained
  Communicator* communicator = nullptr;             // of sums in the last provider's memory
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<int32_t> operands;
  std::vector<int32_t> inputs;  // slots of the graph's inputs without default, then with, as in the
                                // graph; then captures
  std::vector<int32_t> outputs;
  std::vector<NodeExplanation> explanations;  // per step

  // Whose memory the slot's value lies in.
  const ExecutionProvider& provider_of(int32_t slot) const {
    return *providers[slots[static_cast<size_t>(slot)].device];
  }
  Device device_of(int32_t slot) const { return provider_of(slot).device(); }
  absl::Span<const int32_t> step_inputs(const Step& step) const {
    return absl::MakeConstSpan(operands).subspan(static_cast<size_t>(step.operands),
                                                 static_cast<size_t>(step.num_inputs));
  }
  absl::Span<const int32_t> step_outputs(const Step& step) const {
    return absl::MakeConstSpan(operands).subspan(
        static_cast<size_t>(step.operands + step.num_inputs),
        static_cast<size_t>(step.num_outputs));
  }
};

}  // namespace onward::executors
