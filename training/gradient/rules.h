// The rules of all families.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "onward/gradient.h"
#include "training/gradient/gradient_entry.h"

namespace onward::training {

// Every rule.
const std::vector<GradientEntry>& GradientRules();

// The rule of an op: nothing when it has none, null when it has no gradient by its nature.
// Thread-safe.
std::optional<GradientRule> FindGradient(std::string_view domain, std::string_view op);

}  // namespace onward::training
