#include "kernels/bind/indices.h"

#include "absl/strings/str_cat.h"
#include "graph/base/bad_element.h"

namespace onward::kernels {

absl::Status BadIndex(const TensorView& indices, int64_t position, int64_t dim) {
  const int64_t index = IndexAt(indices, position);
  return WithBadElement(
      absl::InvalidArgumentError(absl::StrCat("index ", index, " at position ", position,
                                              " is out of range for an axis of size ", dim)),
      {position, indices.num_elements(), index});
}

}  // namespace onward::kernels
