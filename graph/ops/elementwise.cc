// Element by element. Exponentials, logarithms and powers leave the range of 16-bit floats.
#include "graph/ops/facts.h"

namespace onward {
namespace {

constexpr OpFacts kFacts[] = {
    {"Abs", AutocastClass::kFollow},         {"Acos", AutocastClass::kFull},
    {"Acosh", AutocastClass::kFollow},       {"Add", AutocastClass::kFollow},
    {"And", AutocastClass::kFollow},         {"Asin", AutocastClass::kFull},
    {"Asinh", AutocastClass::kFollow},       {"Atan", AutocastClass::kFollow},
    {"Atanh", AutocastClass::kFollow},       {"BitShift", AutocastClass::kFollow},
    {"BitwiseAnd", AutocastClass::kFollow},  {"BitwiseNot", AutocastClass::kFollow},
    {"BitwiseOr", AutocastClass::kFollow},   {"BitwiseXor", AutocastClass::kFollow},
    {"Ceil", AutocastClass::kFollow},        {"Celu", AutocastClass::kFollow},
    {"Clip", AutocastClass::kFollow},        {"Cos", AutocastClass::kFollow},
    {"Cosh", AutocastClass::kFull},          {"Div", AutocastClass::kFollow},
    {"Elu", AutocastClass::kFollow},         {"Equal", AutocastClass::kFollow},
    {"Erf", AutocastClass::kFollow},         {"Exp", AutocastClass::kFull},
    {"Floor", AutocastClass::kFollow},       {"Gelu", AutocastClass::kFollow},
    {"Greater", AutocastClass::kFollow},     {"GreaterOrEqual", AutocastClass::kFollow},
    {"HardSigmoid", AutocastClass::kFollow}, {"HardSwish", AutocastClass::kFollow},
    {"IsInf", AutocastClass::kFollow},       {"IsNaN", AutocastClass::kFollow},
    {"LeakyRelu", AutocastClass::kFollow},   {"Less", AutocastClass::kFollow},
    {"LessOrEqual", AutocastClass::kFollow}, {"Log", AutocastClass::kFull},
    {"Max", AutocastClass::kFollow},         {"Mean", AutocastClass::kFollow},
    {"Min", AutocastClass::kFollow},         {"Mish", AutocastClass::kFollow},
    {"Mod", AutocastClass::kFollow},         {"Mul", AutocastClass::kFollow},
    {"Neg", AutocastClass::kFollow},         {"Not", AutocastClass::kFollow},
    {"Or", AutocastClass::kFollow},          {"PRelu", AutocastClass::kLower},
    {"Pow", AutocastClass::kFull},           {"Reciprocal", AutocastClass::kFull},
    {"Relu", AutocastClass::kFollow},        {"Round", AutocastClass::kFollow},
    {"Selu", AutocastClass::kFollow},        {"Shrink", AutocastClass::kFollow},
    {"Sigmoid", AutocastClass::kFollow},     {"Sign", AutocastClass::kFollow},
    {"Sin", AutocastClass::kFollow},         {"Sinh", AutocastClass::kFull},
    {"Softplus", AutocastClass::kFull},      {"Softsign", AutocastClass::kFollow},
    {"Sqrt", AutocastClass::kFollow},        {"Sub", AutocastClass::kFollow},
    {"Sum", AutocastClass::kFollow},         {"SwiGLU", AutocastClass::kFollow},
    {"Swish", AutocastClass::kFollow},       {"Tan", AutocastClass::kFull},
    {"Tanh", AutocastClass::kFollow},        {"ThresholdedRelu", AutocastClass::kFollow},
    {"Where", AutocastClass::kFollow},       {"Xor", AutocastClass::kFollow},
};

}  // namespace

absl::Span<const OpFacts> ElementwiseFacts() { return kFacts; }

}  // namespace onward
