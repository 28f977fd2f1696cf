// The steps of onward.Elementwise: ops of single elements whose results have one shape, which a
// device computes in one loop. A step is a line of text, "LeakyRelu(alpha=0.1f) 2": an op, its
// attributes and the numbers of its operands. Values count from the node's inputs on, then step by
// step; "_" is an omitted operand. The attribute `results` has the numbers of the outputs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "onward/attribute.h"

namespace onward::fused {

inline constexpr char kElementwise[] = "Elementwise";

struct ElementwiseStep {
  std::string op, domain;
  Attributes attributes;
  std::vector<int> operands;  // -1: omitted
};

// An op that may be a step, with the number of its operands.
struct StepOp {
  std::string_view op;
  size_t least, most;
  std::string_view domain = "";
};
absl::Span<const StepOp> StepOps();

// Returns whether the op may be a step with that many operands.
bool IsElementwise(std::string_view op, std::string_view domain, size_t operands);

// Nullopt where an attribute is neither a finite float nor an integer nor a word.
std::optional<std::string> StepText(const ElementwiseStep& step);

// InvalidArgument says which line is wrong, or which result none of the steps has.
absl::StatusOr<std::vector<ElementwiseStep>> ReadSteps(const Attributes& attributes, int inputs,
                                                       size_t outputs);

}  // namespace onward::fused
