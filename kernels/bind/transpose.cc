#include "kernels/bind/transpose.h"

#include "absl/strings/str_cat.h"

namespace onward::kernels {

absl::StatusOr<std::vector<int64_t>> TransposePerm(const NodeSpec& spec) {
  std::vector<int64_t> perm = spec.attributes().Ints("perm");
  std::vector<bool> seen(perm.size(), false);
  for (const int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(perm.size()) || seen[static_cast<size_t>(axis)]) {
      return absl::InvalidArgumentError(
          absl::StrCat("perm ", DimsString(perm), " is not a permutation"));
    }
    seen[static_cast<size_t>(axis)] = true;
  }
  return perm;
}

absl::StatusOr<StridedView> TransposeView(absl::Span<const int64_t> perm, DimsView dims) {
  if (!perm.empty() && perm.size() != dims.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("perm ", DimsString(perm), " does not fit rank ", dims.size()));
  }
  const Dims strides = Strides(dims);
  StridedView view;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t axis = perm.empty() ? dims.size() - 1 - i : static_cast<size_t>(perm[i]);
    view.dims.push_back(dims[axis]);
    view.strides.push_back(strides[axis]);
  }
  view.output = view.dims;
  return view;
}

}  // namespace onward::kernels
