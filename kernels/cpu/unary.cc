// Elementwise math and activations of float32, and some of float64, on the vectors of one
// instruction set.
#include "absl/strings/str_cat.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/double_unary.h"

namespace onward::kernels::cpu {
namespace {

// Stands for the functor of an op without attributes.
struct NoParameters {};

constexpr bool IsCheap(FloatUnary op) {
  return op == FloatUnary::kAbs || op == FloatUnary::kNeg || op == FloatUnary::kRelu ||
         op == FloatUnary::kLeakyRelu || op == FloatUnary::kThresholdedRelu ||
         op == FloatUnary::kHardSwish || op == FloatUnary::kHardSigmoid ||
         op == FloatUnary::kShrink;
}

// `Functor` has the op's parameters, with their defaults.
template <FloatUnary kOp, typename Functor = NoParameters>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  LoopParameters parameters;
  ReadFunctorParameters<Functor>(spec.attributes(), parameters.values);
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

template <DoubleUnary kOp>
absl::StatusOr<std::unique_ptr<Kernel>> MakeOfDoubles(const NodeSpec& spec) {
  if (spec.input_dtype(0) != DType::kFloat64) return absl::UnimplementedError("float64 only");
  const UnaryLoop loop = kUnaryOfDoublesPerTarget.For(TargetOf(spec))(kOp);
  return std::make_unique<UnaryKernel>(loop, sizeof(double), sizeof(double), LoopParameters(),
                                       kMathGrain);
}

template <FloatUnary kOp, typename Functor = NoParameters>
constexpr KernelEntry Row(std::string_view op, std::string_view name) {
  return {"", op, name, Make<kOp, Functor>, kVectorTargets};
}

constexpr KernelEntry kKernels[] = {
    Row<FloatUnary::kAbs>("Abs", "abs"),
    Row<FloatUnary::kAcos>("Acos", "acos"),
    Row<FloatUnary::kAcosh>("Acosh", "acosh"),
    Row<FloatUnary::kAsin>("Asin", "asin"),
    Row<FloatUnary::kAsinh>("Asinh", "asinh"),
    Row<FloatUnary::kAtan>("Atan", "atan"),
    Row<FloatUnary::kAtanh>("Atanh", "atanh"),
    Row<FloatUnary::kCeil>("Ceil", "ceil"),
    Row<FloatUnary::kCelu, functors::Celu>("Celu", "celu"),
    Row<FloatUnary::kCos>("Cos", "cos"),
    Row<FloatUnary::kCosh>("Cosh", "cosh"),
    Row<FloatUnary::kElu, functors::Elu>("Elu", "elu"),
    Row<FloatUnary::kErf>("Erf", "erf"),
    Row<FloatUnary::kExp>("Exp", "exp"),
    Row<FloatUnary::kFloor>("Floor", "floor"),
    Row<FloatUnary::kHardSigmoid, functors::HardSigmoid>("HardSigmoid", "hard_sigmoid"),
    Row<FloatUnary::kHardSwish>("HardSwish", "hard_swish"),
    Row<FloatUnary::kLeakyRelu, functors::LeakyRelu>("LeakyRelu", "leaky_relu"),
    Row<FloatUnary::kLog>("Log", "log"),
    Row<FloatUnary::kMish>("Mish", "mish"),
    Row<FloatUnary::kNeg>("Neg", "neg"),
    Row<FloatUnary::kReciprocal>("Reciprocal", "reciprocal"),
    Row<FloatUnary::kRelu>("Relu", "relu"),
    Row<FloatUnary::kRound>("Round", "round"),
    Row<FloatUnary::kSelu, functors::Selu>("Selu", "selu"),
    Row<FloatUnary::kShrink, functors::Shrink>("Shrink", "shrink"),
    Row<FloatUnary::kSigmoid>("Sigmoid", "sigmoid"),
    Row<FloatUnary::kSin>("Sin", "sin"),
    Row<FloatUnary::kSinh>("Sinh", "sinh"),
    Row<FloatUnary::kSoftplus>("Softplus", "softplus"),
    Row<FloatUnary::kSoftsign>("Softsign", "softsign"),
    Row<FloatUnary::kSqrt>("Sqrt", "sqrt"),
    Row<FloatUnary::kSwish, functors::Swish>("Swish", "swish"),
    Row<FloatUnary::kTan>("Tan", "tan"),
    Row<FloatUnary::kTanh>("Tanh", "tanh"),
    Row<FloatUnary::kThresholdedRelu, functors::ThresholdedRelu>("ThresholdedRelu",
                                                                 "thresholded_relu"),
    {"", "Gelu", "gelu", MakeGelu, kVectorTargets},
    {"", "Exp", "exp_double", MakeOfDoubles<DoubleUnary::kExp>, kVectorTargets},
    {"", "Log", "log_double", MakeOfDoubles<DoubleUnary::kLog>, kVectorTargets},
    {"", "Sigmoid", "sigmoid_double", MakeOfDoubles<DoubleUnary::kSigmoid>, kVectorTargets},
    {"", "Tanh", "tanh_double", MakeOfDoubles<DoubleUnary::kTanh>, kVectorTargets},
};

}  // namespace

KernelList UnaryKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
