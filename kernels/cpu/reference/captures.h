// Where the captured values of a body stand among its node's inputs.
#pragma once

#include <string_view>

#include "onward/kernel.h"

namespace onward::kernels::cpu {

// RunContext's inputs are those of the node, then the captures of each of its bodies in their
// order.
struct CaptureRange {
  int first = 0;
  int count = 0;
};

inline CaptureRange CapturesOf(const NodeSpec& spec, std::string_view attribute) {
  int first = spec.num_inputs();
  for (const Subgraph& subgraph : spec.node().subgraphs) {
    const auto count = static_cast<int>(subgraph.captures.size());
    if (subgraph.attribute == attribute) return {first, count};
    first += count;
  }
  return {first, 0};
}

// An input, or one that is absent.
inline SlotValue InputOrAbsent(const RunContext& context, int i) {
  return context.has_input(i) ? context.input_slot(i) : SlotValue();
}

}  // namespace onward::kernels::cpu
