#include "graph/fused/elementwise_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "graph/ops/onward_schemas.h"
#include "onward/status.h"

namespace onward::fused {
namespace {

constexpr size_t kAny = 64;

constexpr StepOp kOps[] = {
    {"Abs", 1, 1},
    {"Acos", 1, 1},
    {"Acosh", 1, 1},
    {"Add", 2, 2},
    {"And", 2, 2},
    {"Asin", 1, 1},
    {"Asinh", 1, 1},
    {"Atan", 1, 1},
    {"Atanh", 1, 1},
    {"BitShift", 2, 2},
    {"BitwiseAnd", 2, 2},
    {"BitwiseNot", 1, 1},
    {"BitwiseOr", 2, 2},
    {"BitwiseXor", 2, 2},
    {"Cast", 1, 1},
    {"Ceil", 1, 1},
    {"Celu", 1, 1},
    {"Clip", 1, 3},
    {"ClipGradient", 2, 4, kOnwardDomain},
    {"Cos", 1, 1},
    {"Cosh", 1, 1},
    {"Div", 2, 2},
    {"Elu", 1, 1},
    {"Equal", 2, 2},
    {"Erf", 1, 1},
    {"Exp", 1, 1},
    {"Floor", 1, 1},
    {"Gelu", 1, 1},
    {"Greater", 2, 2},
    {"GreaterOrEqual", 2, 2},
    {"HardSigmoid", 1, 1},
    {"HardSwish", 1, 1},
    {"IsInf", 1, 1},
    {"IsNaN", 1, 1},
    {"LeakyRelu", 1, 1},
    {"Less", 2, 2},
    {"LessOrEqual", 2, 2},
    {"Log", 1, 1},
    {"Max", 1, kAny},
    {"Mean", 1, kAny},
    {"Min", 1, kAny},
    {"Mish", 1, 1},
    {"Mod", 2, 2},
    {"Mul", 2, 2},
    {"Neg", 1, 1},
    {"Not", 1, 1},
    {"Or", 2, 2},
    {"PRelu", 2, 2},
    {"Pow", 2, 2},
    {"Reciprocal", 1, 1},
    {"Relu", 1, 1},
    {"ReluGradient", 2, 2, kOnwardDomain},
    {"Round", 1, 1},
    {"Selu", 1, 1},
    {"Shrink", 1, 1},
    {"Sigmoid", 1, 1},
    {"Sign", 1, 1},
    {"Sin", 1, 1},
    {"Sinh", 1, 1},
    {"Softplus", 1, 1},
    {"Softsign", 1, 1},
    {"Sqrt", 1, 1},
    {"Sub", 2, 2},
    {"Sum", 1, kAny},
    {"SwiGLU", 2, 2},
    {"Swish", 1, 1},
    {"Tan", 1, 1},
    {"Tanh", 1, 1},
    {"ThresholdedRelu", 1, 1},
    {"Where", 3, 3},
    {"Xor", 2, 2},
};

bool IsWord(std::string_view text) {
  return !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
         });
}

// "" where the attribute has no text.
std::string AttributeText(const Attribute& attribute) {
  if (const auto* number = std::get_if<int64_t>(&attribute)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<float>(&attribute))
    return std::isfinite(*number) ? absl::StrFormat("%.9gf", static_cast<double>(*number)) : "";
  if (const auto* word = std::get_if<std::string>(&attribute)) return IsWord(*word) ? *word : "";
  return "";
}

bool ReadAttribute(const std::string& text, Attributes& attributes) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return false;
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  int64_t integer = 0;
  float number = 0;
  if (!IsWord(name)) return false;
  if (IsWord(value)) {
    attributes.Set(name, value);
  } else if (absl::SimpleAtoi(value, &integer)) {
    attributes.Set(name, integer);
  } else if (value.ends_with('f') && absl::SimpleAtof(value.substr(0, value.size() - 1), &number)) {
    attributes.Set(name, number);
  } else {
    return false;
  }
  return true;
}

bool ReadOp(const std::string& text, ElementwiseStep& step) {
  const size_t open = text.find('(');
  if (open != std::string::npos) {
    if (!text.ends_with(')')) return false;
    const std::string list = text.substr(open + 1, text.size() - open - 2);
    for (const std::string& attribute : std::vector<std::string>(absl::StrSplit(list, ',')))
      if (!ReadAttribute(attribute, step.attributes)) return false;
  }
  const std::string name = text.substr(0, open);
  const size_t dot = name.rfind('.');
  step.domain = dot == std::string::npos ? "" : name.substr(0, dot);
  step.op = dot == std::string::npos ? name : name.substr(dot + 1);
  return true;
}

// `values`: those before the step.
bool ReadStep(const std::string& text, int values, ElementwiseStep& step) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  if (!ReadOp(words[0], step)) return false;
  for (size_t i = 1; i < words.size(); ++i) {
    int operand = -1;
    if (words[i] != "_" &&
        (!absl::SimpleAtoi(words[i], &operand) || operand < 0 || operand >= values)) {
      return false;
    }
    step.operands.push_back(operand);
  }
  return IsElementwise(step.op, step.domain, step.operands.size()) && step.operands[0] >= 0;
}

}  // namespace

absl::Span<const StepOp> StepOps() { return kOps; }

bool IsElementwise(std::string_view op, std::string_view domain, size_t operands) {
  return std::any_of(std::begin(kOps), std::end(kOps), [&](const StepOp& row) {
    return row.op == op && row.domain == domain && operands >= row.least && operands <= row.most;
  });
}

std::optional<std::string> StepText(const ElementwiseStep& step) {
  std::string text = step.domain.empty() ? step.op : absl::StrCat(step.domain, ".", step.op);
  const char* before = "(";
  for (const auto& [name, attribute] : step.attributes.map()) {
    const std::string value = AttributeText(attribute);
    if (value.empty()) return std::nullopt;
    absl::StrAppend(&text, std::exchange(before, ","), name, "=", value);
  }
  if (!step.attributes.map().empty()) text += ")";
  for (const int operand : step.operands)
    absl::StrAppend(&text, " ", operand < 0 ? "_" : absl::StrCat(operand));
  return text;
}

absl::StatusOr<std::vector<ElementwiseStep>> ReadSteps(const Attributes& attributes, int inputs,
                                                       size_t outputs) {
  std::vector<ElementwiseStep> steps;
  for (const std::string& text : attributes.Strings("steps")) {
    const int values = inputs + static_cast<int>(steps.size());
    if (!ReadStep(text, values, steps.emplace_back()))
      return absl::InvalidArgumentError(absl::StrCat(
          "the step '", text, "' is not an elementwise op with values before it, as in 'Add 0 1'"));
  }
  const std::vector<int64_t> results = attributes.Ints("results");
  const auto values = static_cast<int64_t>(inputs) + std::ssize(steps);
  for (const int64_t result : results) {
    if (result < inputs || result >= values)
      return absl::InvalidArgumentError(absl::StrCat("result ", result,
                                                     " is no step's: these have the numbers from ",
                                                     inputs, " to ", values - 1));
  }
  if (results.size() != outputs)
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", results.size(), " results, but ", outputs, " outputs"));
  return steps;
}

}  // namespace onward::fused
