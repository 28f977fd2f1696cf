#include "kernels/bind/concat.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "onward/shape.h"
#include "onward/status.h"

namespace onward::kernels {
namespace {

absl::Status DoesNotFit(int i, DimsView dims, DimsView first, int64_t axis) {
  return absl::InvalidArgumentError(absl::StrCat("input ", i, " of shape ", DimsString(dims),
                                                 " does not fit input 0 of shape ",
                                                 DimsString(first), " along axis ", axis));
}

absl::Status SumIsWrong(const TensorView& sizes, int64_t dim) {
  return absl::InvalidArgumentError(absl::StrCat("split ", DimsString(sizes.span<int64_t>()),
                                                 " does not sum to the axis's size ", dim));
}

// Without sizes the axis is cut evenly, the last part smaller.
absl::Status PartEnds(const TensorView* sizes, int64_t dim, int64_t count, int64_t* ends) {
  if (sizes == nullptr) {
    const int64_t part = (dim + count - 1) / count;
    for (int64_t i = 0; i < count; ++i) ends[i] = std::min(dim, (i + 1) * part);
    return absl::OkStatus();
  }
  if (sizes->num_elements() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("split has ", sizes->num_elements(), " sizes for ", count, " outputs"));
  }
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t size = sizes->as<int64_t>()[i];
    if (size < 0 || size > dim - total) return SumIsWrong(*sizes, dim);
    ends[i] = total += size;
  }
  return total == dim ? absl::OkStatus() : SumIsWrong(*sizes, dim);
}

}  // namespace

absl::Status BindConcat(BindContext& context, int64_t attribute, Parts& parts) {
  const DimsView first = context.input_dims(0);
  ONWARD_ASSIGN_OR_RETURN(const int64_t axis,
                          NormalizeAxis(attribute, static_cast<int64_t>(first.size())));
  const int count = context.num_inputs();
  auto* ends = context.NewArray<int64_t>(count);
  Dims out(first.begin(), first.end());
  int64_t& total = out[static_cast<size_t>(axis)] = 0;
  for (int i = 0; i < count; ++i) {
    const DimsView dims = context.input_dims(i);
    bool fits = dims.size() == first.size();
    for (size_t d = 0; fits && d < dims.size(); ++d)
      fits = d == static_cast<size_t>(axis) || dims[d] == first[d];
    if (!fits) return DoesNotFit(i, dims, first, axis);
    total += dims[static_cast<size_t>(axis)];
    ends[i] = total;
  }
  const int64_t inner = NumElements(out, axis + 1, static_cast<int64_t>(out.size()));
  for (int i = 0; i < count; ++i) ends[i] *= inner;
  parts = {NumElements(out, 0, axis), total * inner, count, ends};
  context.SetOutput(0, out);
  if (count == 1) context.AliasOutput(0, 0);
  return absl::OkStatus();
}

absl::Status BindSplit(BindContext& context, int64_t attribute, Parts& parts) {
  const DimsView dims = context.input_dims(0);
  ONWARD_ASSIGN_OR_RETURN(const int64_t axis,
                          NormalizeAxis(attribute, static_cast<int64_t>(dims.size())));
  const TensorView* sizes = nullptr;
  if (context.has_input(1)) {
    sizes = context.input_value(1);
    if (sizes == nullptr) return context.Defer();
  }
  const int64_t dim = dims[static_cast<size_t>(axis)];
  const int64_t inner = NumElements(dims, axis + 1, static_cast<int64_t>(dims.size()));
  const int64_t count = context.num_outputs();
  auto* ends = context.NewArray<int64_t>(count);
  ONWARD_RETURN_IF_ERROR(PartEnds(sizes, dim, count, ends));
  Dims out(dims.begin(), dims.end());
  for (int i = 0; i < count; ++i) {
    out[static_cast<size_t>(axis)] = ends[i] - (i == 0 ? 0 : ends[i - 1]);
    context.SetOutput(i, out);
  }
  for (int i = 0; i < count; ++i) ends[i] *= inner;
  parts = {NumElements(dims, 0, axis), dim * inner, count, ends};
  if (count == 1) context.AliasOutput(0, 0);
  return absl::OkStatus();
}

absl::Status CheckSplit(const NodeSpec& spec) {
  const int64_t parts = spec.attributes().Int("num_outputs", spec.num_outputs());
  if (parts == spec.num_outputs()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("num_outputs is ", parts, ", the node has ", spec.num_outputs(), " outputs"));
}

}  // namespace onward::kernels
