// The table of the upgrade: the rules of all families.
#pragma once

#include <string_view>

#include "absl/types/span.h"
#include "onnx_io/upgrade/rule.h"

namespace onward::onnx_io {

// All of them, by op and ascending `until`.
const UpgradeRules& AllUpgradeRules();
// Those of one op, ascending.
absl::Span<const UpgradeRule> UpgradeRulesOf(std::string_view domain, std::string_view op);

}  // namespace onward::onnx_io
