#include "training/step/anomaly.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace onward::training {

absl::Status RefuseNonFinite(std::string_view name, const TensorView& value) {
  int64_t at = -1;
  DispatchDType(FloatTypes(), value.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* elements = value.as<const T>();
    for (int64_t i = 0; i < value.num_elements() && at < 0; ++i) {
      const auto element = static_cast<double>(static_cast<float>(elements[i]));
      if (!std::isfinite(element) && element != -std::numeric_limits<double>::infinity()) at = i;
    }
  });
  if (at < 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("log.detect_anomaly: '", std::string(name),
                                                    "' is the first value that is not finite, at ",
                                                    at, " of ", value.num_elements()));
}

}  // namespace onward::training
