#include "kernels/bind/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/shape.h"

namespace onward::kernels {
namespace {

template <typename T>
absl::StatusOr<int64_t> Count(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    const bool up = delta > 0;
    if (up ? start >= limit : start <= limit) return 0;
    const uint64_t low = static_cast<uint64_t>(up ? start : limit);
    const uint64_t span = static_cast<uint64_t>(up ? limit : start) - low;
    const uint64_t step = up ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
    const uint64_t count = span / step + (span % step != 0 ? 1 : 0);
    if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return absl::InvalidArgumentError("the range has too many elements");
    return static_cast<int64_t>(count);
  } else {
    const double count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                   static_cast<double>(delta));
    if (std::isnan(count) || count > 9e15)
      return absl::InvalidArgumentError(absl::StrCat("no range from ", static_cast<double>(start),
                                                     " to ", static_cast<double>(limit),
                                                     " in steps of ", static_cast<double>(delta)));
    return static_cast<int64_t>(std::max(count, 0.0));
  }
}

}  // namespace

absl::Status BindRange(BindContext& context) {
  for (int i = 0; i < 3; ++i) {
    if (NumElements(context.input_dims(i)) != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " must be a scalar, its shape is ", DimsString(context.input_dims(i))));
    }
  }
  const TensorView* values[3];
  for (int i = 0; i < 3; ++i) {
    values[i] = context.input_value(i);
    if (values[i] == nullptr) return context.Defer();
  }
  absl::StatusOr<int64_t> count = absl::UnimplementedError("dtype");
  DispatchDType(RangeTypes(), context.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T delta = *values[2]->as<T>();
    count = delta == T(0) ? absl::StatusOr<int64_t>(absl::InvalidArgumentError("delta is 0"))
                          : Count(*values[0]->as<T>(), *values[1]->as<T>(), delta);
  });
  if (!count.ok()) return count.status();
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), {*count}).status());
  context.SetOutput(0, {*count});
  return absl::OkStatus();
}

}  // namespace onward::kernels
