#include "kernels/bind/max_unpool.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindMaxUnpool(BindContext& context, const PoolAttributes& attributes) {
  const DimsView x = context.input_dims(0), indices = context.input_dims(1);
  if (x != indices) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsString(x), ", the indices are ", DimsString(indices)));
  }
  ONWARD_ASSIGN_OR_RETURN(const Dims inferred, MaxUnpoolDims(attributes, x));
  Dims output = inferred;
  if (context.has_input(2)) {
    const TensorView* shape = context.input_value(2);
    if (shape == nullptr) return context.Defer();
    const std::vector<int64_t> dims = ToInt64(*shape);
    bool fits = dims.size() == x.size();
    for (size_t i = 0; fits && i < dims.size(); ++i) fits = dims[i] >= output[i];
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output_shape ", DimsString(dims), " is smaller than the unpooled ", DimsString(output)));
    }
    ONWARD_RETURN_IF_ERROR(CheckedNumElements(dims).status());
    output.assign(dims.begin(), dims.end());
  }
  context.SetOutput(0, output);
  *context.NewState<MaxUnpoolPlan>() = {context.Keep<int64_t>(inferred), NumElements(inferred),
                                        NumElements(output),
                                        context.Keep<int64_t>(Strides(output))};
  return absl::OkStatus();
}

}  // namespace onward::kernels
