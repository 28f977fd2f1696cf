#include "kernels/cpu/quantized_counts.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace onward::kernels::cpu {
namespace {

absl::Status Wrong(const BindContext& context, int input, const std::string& expected) {
  return absl::InvalidArgumentError(absl::StrCat("input ", input, " has shape ",
                                                 DimsString(context.input_dims(input)),
                                                 ", must have ", expected));
}

bool IsThere(const BindContext& context, int input) {
  return input >= 0 && context.has_input(input);
}

}  // namespace

absl::Status CheckOneElement(const BindContext& context, std::initializer_list<int> inputs) {
  for (const int i : inputs)
    if (IsThere(context, i) && NumElements(context.input_dims(i)) != 1)
      return Wrong(context, i, "one element");
  return absl::OkStatus();
}

absl::Status CheckOneOrEach(const BindContext& context, std::initializer_list<int> inputs,
                            int64_t channels) {
  for (const int i : inputs) {
    if (!IsThere(context, i)) continue;
    const int64_t count = NumElements(context.input_dims(i));
    if (count != 1 && count != channels)
      return Wrong(context, i, absl::StrCat("1 or ", channels, " elements"));
  }
  return absl::OkStatus();
}

absl::Status CheckEach(const BindContext& context, int input, int64_t channels) {
  if (!IsThere(context, input) || NumElements(context.input_dims(input)) == channels)
    return absl::OkStatus();
  return Wrong(context, input, absl::StrCat(channels, " elements"));
}

}  // namespace onward::kernels::cpu
