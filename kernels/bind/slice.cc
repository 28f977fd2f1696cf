#include "kernels/bind/slice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::kernels {
namespace {

int64_t IndexAt(const TensorView& view, int64_t i) {
  return view.dtype == DType::kInt32 ? view.as<const int32_t>()[i] : view.as<const int64_t>()[i];
}

// Clamps as the standard does, sets `dim` to the number of elements taken and returns the first.
int64_t Cut(int64_t start, int64_t end, int64_t step, int64_t& dim) {
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? dim - 1 : dim;
  start = std::clamp(start, step < 0 ? std::min<int64_t>(0, high) : low, std::max(low, high));
  end = std::clamp(end, low, std::max(low, high));
  const int64_t span = step < 0 ? start - end : end - start;
  if (dim == 0 || span <= 0) return dim = 0;
  // |step| as unsigned: the smallest int64 has no positive counterpart.
  const uint64_t stride = step < 0 ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  dim = static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride) + 1;
  return start;
}

}  // namespace

absl::StatusOr<std::optional<StridedView>> SliceView(const BindContext& context) {
  const TensorView* values[5] = {};
  for (int i = 1; i < 5; ++i) {
    if (!context.has_input(i)) continue;
    values[i] = context.input_value(i);
    if (values[i] == nullptr) return std::nullopt;
  }
  const int64_t count = values[1]->num_elements();
  for (int i = 2; i < 5; ++i) {
    if (values[i] != nullptr && values[i]->num_elements() != count) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " has ", values[i]->num_elements(), " elements, starts has ", count));
    }
  }
  const DimsView dims = context.input_dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  if (count > rank)
    return absl::InvalidArgumentError(
        absl::StrCat("starts has ", count, " elements, the input has rank ", rank));
  StridedView view;
  view.dims.assign(dims.begin(), dims.end());
  view.strides = Strides(dims);
  uint64_t seen = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = i;
    if (values[3] != nullptr) {
      ONWARD_ASSIGN_OR_RETURN(axis, NormalizeAxis(IndexAt(*values[3], i), rank));
      if (axis < 64 && (seen >> axis & 1) != 0)
        return absl::InvalidArgumentError(absl::StrCat("axes: ", axis, " is given twice"));
      if (axis < 64) seen |= uint64_t{1} << axis;
    }
    const int64_t step = values[4] == nullptr ? 1 : IndexAt(*values[4], i);
    if (step == 0)
      return absl::InvalidArgumentError(absl::StrCat("the step of axis ", axis, " is 0"));
    const auto a = static_cast<size_t>(axis);
    const int64_t start = Cut(IndexAt(*values[1], i), IndexAt(*values[2], i), step, view.dims[a]);
    view.offset += start * view.strides[a];
    if (view.dims[a] > 1) view.strides[a] *= step;
  }
  view.output = view.dims;
  return view;
}

}  // namespace onward::kernels
