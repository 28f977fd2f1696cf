// Elementwise math and activations of float32, on the vectors of one instruction set.
#include "absl/strings/str_cat.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

// Names and defaults of an op's parameters.
struct ParameterNames {
  const char* first = nullptr;
  float first_default = 0;
  const char* second = nullptr;
  float second_default = 0;
};

constexpr ParameterNames NamesOf(FloatUnary op) {
  switch (op) {
    case FloatUnary::kCelu:
    case FloatUnary::kElu:
    case FloatUnary::kSwish:
    case FloatUnary::kThresholdedRelu:
      return {"alpha", 1.0f};
    case FloatUnary::kLeakyRelu:
      return {"alpha", 0.01f};
    case FloatUnary::kHardSigmoid:
      return {"alpha", 0.2f, "beta", 0.5f};
    case FloatUnary::kSelu:
      return {"alpha", 1.67326319217681884765625f, "gamma", 1.05070102214813232421875f};
    default:
      return {};
  }
}

constexpr bool IsCheap(FloatUnary op) {
  return op == FloatUnary::kAbs || op == FloatUnary::kNeg || op == FloatUnary::kRelu ||
         op == FloatUnary::kLeakyRelu || op == FloatUnary::kThresholdedRelu ||
         op == FloatUnary::kHardSwish || op == FloatUnary::kHardSigmoid;
}

template <FloatUnary kOp>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  constexpr ParameterNames kNames = NamesOf(kOp);
  LoopParameters parameters;
  if constexpr (kNames.first != nullptr)
    parameters.values[0] = spec.attributes().Float(kNames.first, kNames.first_default);
  if constexpr (kNames.second != nullptr)
    parameters.values[1] = spec.attributes().Float(kNames.second, kNames.second_default);
  const UnaryLoop loop = kUnaryPerTarget.For(TargetOf(spec))(kOp);
  return std::make_unique<UnaryKernel>(loop, sizeof(float), sizeof(float), parameters,
                                       IsCheap(kOp) ? kCheapGrain : 4 * kMathGrain);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGelu(const NodeSpec& spec) {
  const std::string approximate = spec.attributes().String("approximate", "none");
  if (approximate == "none") return Make<FloatUnary::kGelu>(spec);
  if (approximate == "tanh") return Make<FloatUnary::kGeluTanh>(spec);
  return absl::InvalidArgumentError(
      absl::StrCat("approximate is '", approximate, "', not 'none' or 'tanh'"));
}

template <FloatUnary kOp>
constexpr KernelEntry Row(std::string_view op, std::string_view name) {
  return {"", op, name, Make<kOp>, kVectorTargets};
}

constexpr KernelEntry kKernels[] = {
    Row<FloatUnary::kAbs>("Abs", "abs"),
    Row<FloatUnary::kAtan>("Atan", "atan"),
    Row<FloatUnary::kCeil>("Ceil", "ceil"),
    Row<FloatUnary::kCelu>("Celu", "celu"),
    Row<FloatUnary::kCos>("Cos", "cos"),
    Row<FloatUnary::kElu>("Elu", "elu"),
    Row<FloatUnary::kErf>("Erf", "erf"),
    Row<FloatUnary::kExp>("Exp", "exp"),
    Row<FloatUnary::kFloor>("Floor", "floor"),
    Row<FloatUnary::kHardSigmoid>("HardSigmoid", "hard_sigmoid"),
    Row<FloatUnary::kHardSwish>("HardSwish", "hard_swish"),
    Row<FloatUnary::kLeakyRelu>("LeakyRelu", "leaky_relu"),
    Row<FloatUnary::kLog>("Log", "log"),
    Row<FloatUnary::kMish>("Mish", "mish"),
    Row<FloatUnary::kNeg>("Neg", "neg"),
    Row<FloatUnary::kReciprocal>("Reciprocal", "reciprocal"),
    Row<FloatUnary::kRelu>("Relu", "relu"),
    Row<FloatUnary::kRound>("Round", "round"),
    Row<FloatUnary::kSelu>("Selu", "selu"),
    Row<FloatUnary::kSigmoid>("Sigmoid", "sigmoid"),
    Row<FloatUnary::kSin>("Sin", "sin"),
    Row<FloatUnary::kSoftplus>("Softplus", "softplus"),
    Row<FloatUnary::kSoftsign>("Softsign", "softsign"),
    Row<FloatUnary::kSqrt>("Sqrt", "sqrt"),
    Row<FloatUnary::kSwish>("Swish", "swish"),
    Row<FloatUnary::kTanh>("Tanh", "tanh"),
    Row<FloatUnary::kThresholdedRelu>("ThresholdedRelu", "thresholded_relu"),
    {"", "Gelu", "gelu", MakeGelu, kVectorTargets},
};

}  // namespace

KernelList UnaryKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
