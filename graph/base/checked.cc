#include "graph/base/checked.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onward {

absl::StatusOr<int64_t> CheckedNumElements(absl::Span<const int64_t> dims) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape [", absl::StrJoin(dims, ","), "] has a negative dimension"));
    }
    if (dim == 0) {
      empty = true;
      continue;
    }
    const std::optional<int64_t> product = CheckedMul(count, dim);
    if (!product) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape [", absl::StrJoin(dims, ","), "] has more than 2^63 elements"));
    }
    count = *product;
  }
  return empty ? 0 : count;
}

absl::StatusOr<int64_t> CheckedByteSize(DType dtype, absl::Span<const int64_t> dims) {
  const absl::StatusOr<int64_t> count = CheckedNumElements(dims);
  if (!count.ok()) return count.status();
  const std::optional<int64_t> bits = CheckedMul(*count, BitSize(dtype));
  if (!bits || *bits > INT64_MAX - 7) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape [", absl::StrJoin(dims, ","), "] needs more than 2^60 bytes"));
  }
  return (*bits + 7) / 8;
}

}  // namespace onward
