#include "kernels/cuda/elementwise_steps.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/binary_functors.h"
#include "kernels/bind/functor_parameters.h"

namespace onward::kernels::cuda {
namespace {

namespace f = functors;

using Values = std::vector<ElementwiseValue>;

struct FunctorRow {
  std::string_view op;
  std::string_view functor;
  // The values of the functor's parameters and their number; null: it has none.
  int (*parameters)(const Attributes& attributes, float* values) = nullptr;
  bool is_predicate = false;
  bool chains = false;  // over any number of operands
};

template <typename F>
int Parameters(const Attributes& attributes, float* values) {
  ReadFunctorParameters<F>(attributes, values);
  return sizeof(F::kParameters) / sizeof(FunctorParameter);
}

constexpr FunctorRow kFunctors[] = {
    {"Abs", "Abs"},
    {"Acos", "Acos"},
    {"Acosh", "Acosh"},
    {"Add", "Add"},
    {"And", "BitwiseAnd"},
    {"Asin", "Asin"},
    {"Asinh", "Asinh"},
    {"Atan", "Atan"},
    {"Atanh", "Atanh"},
    {"BitwiseAnd", "BitwiseAnd"},
    {"BitwiseNot", "BitwiseNot"},
    {"BitwiseOr", "BitwiseOr"},
    {"BitwiseXor", "BitwiseXor"},
    {"Ceil", "Ceil"},
    {"Celu", "Celu", Parameters<f::Celu>},
    {"Cos", "Cos"},
    {"Cosh", "Cosh"},
    {"Div", "Div"},
    {"Elu", "Elu", Parameters<f::Elu>},
    {"Equal", "Equal", nullptr, true},
    {"Erf", "Erf"},
    {"Exp", "Exp"},
    {"Floor", "Floor"},
    {"Greater", "Greater", nullptr, true},
    {"GreaterOrEqual", "GreaterOrEqual", nullptr, true},
    {"HardSigmoid", "HardSigmoid", Parameters<f::HardSigmoid>},
    {"HardSwish", "HardSwish"},
    {"IsInf", "IsInf", Parameters<f::IsInf>, true},
    {"IsNaN", "IsNaN", nullptr, true},
    {"LeakyRelu", "LeakyRelu", Parameters<f::LeakyRelu>},
    {"Less", "Less", nullptr, true},
    {"LessOrEqual", "LessOrEqual", nullptr, true},
    {"Log", "Log"},
    {"Max", "Max", nullptr, false, true},
    {"Mean", "Add", nullptr, false, true},
    {"Min", "Min", nullptr, false, true},
    {"Mish", "Mish"},
    {"Mul", "Mul"},
    {"Neg", "Neg"},
    {"Not", "Not"},
    {"Or", "BitwiseOr"},
    {"PRelu", "PRelu"},
    {"Pow", "PowOfFew"},
    {"Reciprocal", "Reciprocal"},
    {"Relu", "Relu"},
    {"Round", "Round"},
    {"Selu", "Selu", Parameters<f::Selu>},
    {"Shrink", "Shrink", Parameters<f::Shrink>},
    {"Sigmoid", "Sigmoid"},
    {"Sign", "Sign"},
    {"Sin", "Sin"},
    {"Sinh", "Sinh"},
    {"Softplus", "Softplus"},
    {"Softsign", "Softsign"},
    {"Sqrt", "Sqrt"},
    {"Sub", "Sub"},
    {"Sum", "Add", nullptr, false, true},
    {"SwiGLU", "SwiGlu", Parameters<f::SwiGlu>},
    {"Swish", "Swish", Parameters<f::Swish>},
    {"Tan", "Tan"},
    {"Tanh", "Tanh"},
    {"ThresholdedRelu", "ThresholdedRelu", Parameters<f::ThresholdedRelu>},
    {"Xor", "BitwiseXor"},
};

// The functor of an op that has several; "" for others.
std::string_view ChosenFunctor(const fused::ElementwiseStep& step) {
  const Attributes& attributes = step.attributes;
  if (step.op == "Gelu")
    return attributes.String("approximate", "none") == "tanh" ? "GeluTanh" : "GeluErf";
  if (step.op == "Mod") return attributes.Int("fmod", 0) != 0 ? "ModTruncate" : "ModFloor";
  if (step.op == "BitShift")
    return attributes.String("direction") == "LEFT" ? "BitShiftLeft" : "BitShiftRight";
  return "";
}

std::string Call(std::string_view functor, std::string_view parameters,
                 std::string_view arguments) {
  const std::string made =
      parameters.empty() ? "()" : absl::StrCat("{", std::string(parameters), "}");
  return absl::StrCat("functors::", std::string(functor), made, "(", std::string(arguments), ")");
}

std::string CallOfAll(std::string_view functor, std::string_view parameters, const Values& values) {
  return Call(functor, parameters,
              absl::StrJoin(values, ", ", [](std::string* out, const ElementwiseValue& value) {
                *out += value.name;
              }));
}

// f(f(a, b), c): as the loops of the separate ops have it.
std::string Chain(const FunctorRow& row, const Values& values) {
  std::string chain = values[0].name;
  for (size_t i = 1; i < values.size(); ++i)
    chain = Call(row.functor, "", absl::StrCat(chain, ", ", values[i].name));
  if (row.op != "Mean") return chain;
  return absl::StrCat(chain, " / ", ComputeTypeOf(values[0].dtype), "(", values.size(), ")");
}

std::string ParametersOf(const FunctorRow& row, const Attributes& attributes) {
  if (row.parameters == nullptr) return "";
  float values[2];
  const int count = row.parameters(attributes, values);
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i)
    texts.push_back(absl::StrFormat("%af", static_cast<double>(values[i])));
  return absl::StrJoin(texts, ", ");
}

std::string Clipped(const Values& values) {
  std::string clipped = values[0].name;
  const char* bounds[] = {"AtLeast", "AtMost"};
  for (size_t i = 1; i < values.size(); ++i)
    if (!values[i].name.empty())
      clipped = absl::StrCat(bounds[i - 1], "(", clipped, ", ", values[i].name, ")");
  return clipped;
}

// Values are kept in a type of their own; the comparison is one in the gradient's.
std::string Passed(const Values& values, bool relu) {
  const std::string type = ComputeTypeOf(values[1].dtype);
  const std::string value = absl::StrCat("static_cast<", type, ">(", values[0].name, ")");
  std::vector<std::string> conditions;
  if (relu) conditions.push_back(absl::StrCat(value, " > 0"));
  const char* comparisons[] = {" > ", " < "};
  for (size_t i = 2; i < values.size(); ++i)
    if (!values[i].name.empty())
      conditions.push_back(absl::StrCat(value, comparisons[i - 2], values[i].name));
  if (conditions.empty()) return values[1].name;
  return absl::StrCat(absl::StrJoin(conditions, " && "), " ? ", values[1].name, " : ", type, "(0)");
}

}  // namespace

std::string ElementTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float";
    case DType::kFloat64:
      return "double";
    case DType::kFloat16:
      return "Float16";
    case DType::kBFloat16:
      return "BFloat16";
    case DType::kBool:
      return "bool";
    default:
      return absl::StrCat(std::string(DTypeName(dtype)), "_t");
  }
}

std::string ComputeTypeOf(DType dtype) {
  const bool narrow = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return narrow ? "float" : ElementTypeOf(dtype);
}

absl::StatusOr<ElementwiseValue> WriteElementwiseStep(const fused::ElementwiseStep& step,
                                                      const Values& operands) {
  const DType dtype = operands[0].dtype;
  if (step.op == "Cast") {
    const auto to = static_cast<DType>(step.attributes.Int("to", 0));
    return ElementwiseValue{absl::StrCat("CastTo<", ElementTypeOf(dtype), ", ", ElementTypeOf(to),
                                         ">(", operands[0].name, ")"),
                            to};
  }
  if (step.op == "Where") {
    return ElementwiseValue{
        absl::StrCat(operands[0].name, " ? ", operands[1].name, " : ", operands[2].name),
        operands[1].dtype};
  }
  if (step.op == "Clip") return ElementwiseValue{Clipped(operands), dtype};
  if (step.op == "ReluGradient" || step.op == "ClipGradient")
    return ElementwiseValue{Passed(operands, step.op == "ReluGradient"), operands[1].dtype};
  if (const std::string_view chosen = ChosenFunctor(step); !chosen.empty())
    return ElementwiseValue{CallOfAll(chosen, "", operands), dtype};
  for (const FunctorRow& row : kFunctors) {
    if (row.op != step.op) continue;
    if (row.chains) return ElementwiseValue{Chain(row, operands), dtype};
    return ElementwiseValue{CallOfAll(row.functor, ParametersOf(row, step.attributes), operands),
                            row.is_predicate ? DType::kBool : dtype};
  }
  return absl::UnimplementedError(absl::StrCat("no functor computes ", step.op));
}

}  // namespace onward::kernels::cuda
