#include "graph/rewrite/add_integers.h"

namespace onward {

ValueId AddIntegers(Patch& patch, absl::Span<const int64_t> elements) {
  return patch.AddConstant(
      "", Tensor::Of<int64_t>(Dims{static_cast<int64_t>(elements.size())}, elements));
}

}  // namespace onward
