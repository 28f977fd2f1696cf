#include "kernels/bind/expand.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/status.h"

namespace onward::kernels {

absl::StatusOr<std::optional<StridedView>> ExpandView(const BindContext& context) {
  const TensorView* shape = context.input_value(1);
  if (shape == nullptr) return std::nullopt;
  const absl::Span<const int64_t> target = shape->span<int64_t>();
  for (const int64_t dim : target) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", DimsString(target), " has a negative size"));
    }
  }
  const DimsView dims = context.input_dims(0);
  StridedView view;
  ONWARD_ASSIGN_OR_RETURN(view.output, BroadcastDims(dims, target));
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), view.output).status());
  view.dims = view.output;
  view.strides = BroadcastStrides(dims, view.output);
  return view;
}

absl::StatusOr<std::optional<StridedView>> TileView(const BindContext& context) {
  const TensorView* repeats = context.input_value(1);
  if (repeats == nullptr) return std::nullopt;
  const DimsView dims = context.input_dims(0);
  if (repeats->num_elements() != static_cast<int64_t>(dims.size())) {
    return absl::InvalidArgumentError(absl::StrCat("repeats has ", repeats->num_elements(),
                                                   " elements, the input has rank ", dims.size()));
  }
  StridedView view;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t count = repeats->as<int64_t>()[i];
    const std::optional<int64_t> dim = CheckedMul(count, dims[i]);
    if (count < 0 || !dim)
      return absl::InvalidArgumentError(
          absl::StrCat("repeats: ", count, " is out of range for axis ", i));
    view.output.push_back(*dim);
  }
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), view.output).status());
  const Dims strides = Strides(dims);
  const bool empty = absl::c_linear_search(view.output, 0);  // other repeats may be any number
  for (size_t i = 0; i < dims.size(); ++i) {
    view.dims.push_back(empty ? 0 : repeats->as<int64_t>()[i]);
    view.dims.push_back(dims[i]);
    view.strides.push_back(0);
    view.strides.push_back(strides[i]);
  }
  return view;
}

}  // namespace onward::kernels
