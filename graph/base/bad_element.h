// Which element of a tensor made an operation fail, beside the message of its status: whoever knows
// where the tensor came from can say so.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"

namespace onward {

struct BadElement {
  int64_t position = 0;  // in the order of elements
  int64_t count = 0;     // of the tensor's elements
  int64_t value = 0;
  std::optional<double> number = std::nullopt;  // of floats, in place of `value`
};

absl::Status WithBadElement(absl::Status status, const BadElement& element);
std::optional<BadElement> BadElementOf(const absl::Status& status);

}  // namespace onward
