#include "onward/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/checked.h"

namespace onward {

Dims Strides(DimsView dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

absl::StatusOr<Dims> BroadcastDims(DimsView a, DimsView b) {
  if (a.size() < b.size()) std::swap(a, b);
  Dims result(a.begin(), a.end());
  const size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t& dim = result[offset + i];
    if (b[i] == dim || b[i] == 1) continue;
    if (dim != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shapes ", DimsString(a), " and ", DimsString(b), " do not broadcast"));
    }
    dim = b[i];
  }
  return result;
}

Dims BroadcastStrides(DimsView dims, DimsView to) {
  Dims strides(to.size(), 0);
  const size_t offset = to.size() - dims.size();
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[offset + i] = dims[i] == 1 ? 0 : stride;
    stride *= dims[i];
  }
  return strides;
}

absl::StatusOr<int64_t> NormalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is out of range for rank ", rank));
  }
  return axis < 0 ? axis + rank : axis;
}

std::string DimsString(DimsView dims) { return absl::StrCat("[", absl::StrJoin(dims, ","), "]"); }

}  // namespace onward
