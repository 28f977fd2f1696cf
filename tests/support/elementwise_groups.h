// Graphs that become one fused elementwise group each, with every op that may be a step: what the
// emulated device computes is what NVRTC compiles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "onward/dtype.h"
#include "onward/type.h"

namespace onward::testing {

struct ElementwiseGroup {
  std::string name;
  // "{T}" stands for each of the dtypes, by its name in the text syntax.
  std::string text;
  std::vector<DType> dtypes;
};
const std::vector<ElementwiseGroup>& ElementwiseGroups();

// The text of the group for one of its dtypes.
std::string TextOf(const ElementwiseGroup& group, DType dtype);

}  // namespace onward::testing
