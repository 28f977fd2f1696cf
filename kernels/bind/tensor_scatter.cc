#include "kernels/bind/tensor_scatter.h"

#include "absl/strings/str_cat.h"
#include "onward/shape.h"

namespace onward::kernels {

absl::Status BindTensorScatter(BindContext& context, int64_t given_axis) {
  const DimsView cache = context.input_dims(0), update = context.input_dims(1);
  const auto rank = static_cast<int64_t>(cache.size());
  ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(given_axis, rank));
  bool fits = axis > 0 && update.size() == cache.size();
  for (size_t i = 0; fits && i < cache.size(); ++i)
    fits = i == static_cast<size_t>(axis) ? update[i] <= cache[i] : update[i] == cache[i];
  if (context.has_input(2)) fits = fits && context.input_dims(2) == DimsView(cache.data(), 1);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("update of shape ", DimsString(update),
                                                   " does not fit a cache of shape ",
                                                   DimsString(cache), " along axis ", axis));
  }
  *context.NewState<TensorScatterSizes>() = {
      cache[0], NumElements(cache, 1, axis), cache[static_cast<size_t>(axis)],
      update[static_cast<size_t>(axis)], NumElements(cache, axis + 1, rank)};
  context.SetOutput(0, cache);
  context.AllowInPlace(0, 0);
  return absl::OkStatus();
}

absl::StatusOr<bool> IsCircular(const NodeSpec& spec) {
  const std::string mode = spec.attributes().String("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return absl::InvalidArgumentError(absl::StrCat("mode is '", mode, "', not linear or circular"));
  return mode == "circular";
}

}  // namespace onward::kernels
