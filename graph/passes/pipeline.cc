#include "graph/passes/pass.h"
#include "graph/passes/passes.h"

namespace onward {

std::vector<Pass> PortablePipeline() {
  return {
      {"fold_constants", FoldConstants},
      {"eliminate_dead", EliminateDead},
  };
}

std::vector<Pass> DevicePipeline(std::string_view) {
  return {
      {"fold_constants", FoldConstants},
      {"eliminate_dead", EliminateDead},
  };
}

}  // namespace onward
