#include "graph/ops/activation.h"

namespace onward {
namespace {

bool IsTanhGelu(const Attributes& attributes) {
  return attributes.String("approximate", "none") == "tanh";
}

constexpr ActivationRow kRows[] = {
    {.kind = Activation::kRelu, .name = "relu", .op = "Relu"},
    {.kind = Activation::kClip, .name = "clip", .op = "Clip"},
    {.kind = Activation::kLeakyRelu,
     .name = "leaky_relu",
     .op = "LeakyRelu",
     .alpha = {"alpha", 0.01f}},
    {.kind = Activation::kSigmoid, .name = "sigmoid", .op = "Sigmoid"},
    {.kind = Activation::kTanh, .name = "tanh", .op = "Tanh"},
    {.kind = Activation::kGelu,
     .name = "gelu",
     .op = "Gelu",
     .is = [](const Attributes& attributes) { return !IsTanhGelu(attributes); }},
    {.kind = Activation::kGeluTanh,
     .name = "gelu_tanh",
     .op = "Gelu",
     .choice = {"approximate", "tanh"},
     .is = IsTanhGelu},
    {.kind = Activation::kSilu,
     .name = "silu",
     .op = "Swish",
     .is = [](const Attributes& attributes) { return attributes.Float("alpha", 1.0f) == 1.0f; }},
    {.kind = Activation::kHardSwish, .name = "hard_swish", .op = "HardSwish"},
    {.kind = Activation::kHardSigmoid,
     .name = "hard_sigmoid",
     .op = "HardSigmoid",
     .alpha = {"alpha", 0.2f},
     .beta = {"beta", 0.5f}},
};

}  // namespace

absl::Span<const ActivationRow> Activations() { return kRows; }

const ActivationRow* FindActivation(std::string_view name) {
  for (const ActivationRow& row : kRows)
    if (row.name == name) return &row;
  return nullptr;
}

const ActivationRow* ActivationOf(std::string_view op, const Attributes& attributes) {
  for (const ActivationRow& row : kRows)
    if (row.op == op && (row.is == nullptr || row.is(attributes))) return &row;
  return nullptr;
}

}  // namespace onward
