// Numbers as text, for Cast to and from strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace onward::kernels::cpu {

// The shortest decimal that reads back as `value` in a format of `mantissa_bits` (counting the
// implicit one) and that Python prints for it: "1.0", "0.1", "1e-05", "nan", "-inf".
std::string FloatToString(double value, int mantissa_bits);

// Reads a decimal or scientific number; "INF", "+INF", "-INF" and "NaN" in any case. Surrounding
// blanks are allowed. InvalidArgument: "'abc' is not a number".
absl::Status ParseDouble(std::string_view text, double* value);
absl::Status ParseInteger(std::string_view text, int64_t* bits);
// "true", "false" in any case, or a number.
absl::Status ParseBool(std::string_view text, bool* value);

}  // namespace onward::kernels::cpu
