// Where the time of a profile went: a row an operator and kernel.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/types/span.h"
#include "onward/trace.h"

namespace onward::cli {

// The costliest rows, and one line for all others; "" without steps.
std::string OpTableText(absl::Span<const OpTime> times);
// All rows: [{"op","kernel","calls","ms","share"}].
nlohmann::json OpTableJson(absl::Span<const OpTime> times);

}  // namespace onward::cli
