#include "kernels/bind/one_hot.h"

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/shape.h"

namespace onward::kernels {
namespace {

int64_t DepthOf(const TensorView& depth) {
  int64_t count = -1;
  DispatchDType(Concat<FloatTypes, IntegerTypes>(), depth.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    count = OneHotIndex(static_cast<ComputeType<T>>(*depth.as<const T>()));
  });
  return count;
}

}  // namespace

absl::Status BindOneHot(BindContext& context, int64_t given_axis) {
  const TensorView* depth = context.input_value(1);
  if (depth == nullptr) return context.Defer();
  if (depth->num_elements() != 1 || NumElements(context.input_dims(2)) != 2)
    return absl::InvalidArgumentError("depth must have one element and values two");
  const int64_t count = DepthOf(*depth);
  if (count < 0)
    return absl::InvalidArgumentError(absl::StrCat("depth is ", count, ", must be at least 0"));
  const DimsView dims = context.input_dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(given_axis, rank + 1));
  Dims out(dims.begin(), dims.end());
  out.insert(out.begin() + axis, count);
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(2), out).status());
  context.SetOutput(0, out);
  *context.NewState<OneHotPlan>() = {count, NumElements(dims, axis, rank)};
  return absl::OkStatus();
}

}  // namespace onward::kernels
