// Element by element. Exponentials, logarithms and powers leave the range of 16-bit floats.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Abs", Precision::kFollow},         {"Acos", Precision::kFull},
    {"Acosh", Precision::kFollow},       {"Add", Precision::kFollow},
    {"And", Precision::kFollow},         {"Asin", Precision::kFull},
    {"Asinh", Precision::kFollow},       {"Atan", Precision::kFollow},
    {"Atanh", Precision::kFollow},       {"BitShift", Precision::kFollow},
    {"BitwiseAnd", Precision::kFollow},  {"BitwiseNot", Precision::kFollow},
    {"BitwiseOr", Precision::kFollow},   {"BitwiseXor", Precision::kFollow},
    {"Ceil", Precision::kFollow},        {"Celu", Precision::kFollow},
    {"Clip", Precision::kFollow},        {"Cos", Precision::kFollow},
    {"Cosh", Precision::kFull},          {"Div", Precision::kFollow},
    {"Elu", Precision::kFollow},         {"Equal", Precision::kFollow},
    {"Erf", Precision::kFollow},         {"Exp", Precision::kFull},
    {"Floor", Precision::kFollow},       {"Gelu", Precision::kFollow},
    {"Greater", Precision::kFollow},     {"GreaterOrEqual", Precision::kFollow},
    {"HardSigmoid", Precision::kFollow}, {"HardSwish", Precision::kFollow},
    {"IsInf", Precision::kFollow},       {"IsNaN", Precision::kFollow},
    {"LeakyRelu", Precision::kFollow},   {"Less", Precision::kFollow},
    {"LessOrEqual", Precision::kFollow}, {"Log", Precision::kFull},
    {"Max", Precision::kFollow},         {"Mean", Precision::kFollow},
    {"Min", Precision::kFollow},         {"Mish", Precision::kFollow},
    {"Mod", Precision::kFollow},         {"Mul", Precision::kFollow},
    {"Neg", Precision::kFollow},         {"Not", Precision::kFollow},
    {"Or", Precision::kFollow},          {"PRelu", Precision::kLower},
    {"Pow", Precision::kFull},           {"Reciprocal", Precision::kFull},
    {"Relu", Precision::kFollow},        {"Round", Precision::kFollow},
    {"Selu", Precision::kFollow},        {"Shrink", Precision::kFollow},
    {"Sigmoid", Precision::kFollow},     {"Sign", Precision::kFollow},
    {"Sin", Precision::kFollow},         {"Sinh", Precision::kFull},
    {"Softplus", Precision::kFull},      {"Softsign", Precision::kFollow},
    {"Sqrt", Precision::kFollow},        {"Sub", Precision::kFollow},
    {"Sum", Precision::kFollow},         {"SwiGLU", Precision::kFollow},
    {"Swish", Precision::kFollow},       {"Tan", Precision::kFull},
    {"Tanh", Precision::kFollow},        {"ThresholdedRelu", Precision::kFollow},
    {"Where", Precision::kFollow},       {"Xor", Precision::kFollow},
};

}  // namespace

absl::Span<const OpFacts> ElementwiseFacts() { return kFacts; }

}  // namespace onward
