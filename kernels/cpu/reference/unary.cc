// Elementwise math and activations of one operand.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

namespace f = functors;

using SignedNumericTypes = Concat<FloatTypes, SignedTypes>;
using BoolTypes = TypeList<bool>;
using WithFloat8Types =
    Concat<FloatTypes, TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ>>;

absl::StatusOr<std::unique_ptr<Kernel>> MakeGelu(const NodeSpec& spec) {
  const std::string approximate = spec.attributes().String("approximate", "none");
  if (approximate == "none") return MakeUnary<f::GeluErf, FloatTypes>(spec);
  if (approximate == "tanh") return MakeUnary<f::GeluTanh, FloatTypes>(spec);
  return absl::InvalidArgumentError("approximate is '" + approximate + "', not 'none' or 'tanh'");
}

// Bytes rather than bools, so that the loop vectorises.
void RunNot(const void* in, void* out, int64_t count, const LoopParameters&) {
  const auto* x = static_cast<const uint8_t*>(in);
  auto* y = static_cast<uint8_t*>(out);
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] == 0 ? 1 : 0;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeNot(const NodeSpec& spec) {
  if (spec.input_dtype(0) != DType::kBool) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<UnaryKernel>(RunNot, 1, 1, LoopParameters(), 4 * kCheapGrain);
}

constexpr KernelEntry kKernels[] = {
    {"", "Abs", "abs_reference", MakeUnary<f::Abs, NumericTypes, kCheapGrain>},
    {"", "Acos", "acos_reference", MakeUnary<f::Acos, FloatTypes>},
    {"", "Acosh", "acosh_reference", MakeUnary<f::Acosh, FloatTypes>},
    {"", "Asin", "asin_reference", MakeUnary<f::Asin, FloatTypes>},
    {"", "Asinh", "asinh_reference", MakeUnary<f::Asinh, FloatTypes>},
    {"", "Atan", "atan_reference", MakeUnary<f::Atan, FloatTypes>},
    {"", "Atanh", "atanh_reference", MakeUnary<f::Atanh, FloatTypes>},
    {"", "BitwiseNot", "bitwise_not_reference",
     MakeUnary<f::BitwiseNot, IntegerTypes, kCheapGrain>},
    {"", "Ceil", "ceil_reference", MakeUnary<f::Ceil, FloatTypes>},
    {"", "Celu", "celu_reference", MakeUnary<f::Celu, FloatTypes>},
    {"", "Cos", "cos_reference", MakeUnary<f::Cos, FloatTypes>},
    {"", "Cosh", "cosh_reference", MakeUnary<f::Cosh, FloatTypes>},
    {"", "Elu", "elu_reference", MakeUnary<f::Elu, FloatTypes>},
    {"", "Erf", "erf_reference", MakeUnary<f::Erf, FloatTypes>},
    {"", "Exp", "exp_reference", MakeUnary<f::Exp, FloatTypes>},
    {"", "Floor", "floor_reference", MakeUnary<f::Floor, FloatTypes>},
    {"", "Gelu", "gelu_reference", MakeGelu},
    {"", "HardSigmoid", "hard_sigmoid_reference",
     MakeUnary<f::HardSigmoid, FloatTypes, kCheapGrain>},
    {"", "HardSwish", "hard_swish_reference", MakeUnary<f::HardSwish, FloatTypes, kCheapGrain>},
    {"", "IsInf", "is_inf_reference", MakeUnary<f::IsInf, WithFloat8Types, kCheapGrain>},
    {"", "IsNaN", "is_nan_reference", MakeUnary<f::IsNaN, WithFloat8Types, kCheapGrain>},
    {"", "LeakyRelu", "leaky_relu_reference", MakeUnary<f::LeakyRelu, FloatTypes, kCheapGrain>},
    {"", "Log", "log_reference", MakeUnary<f::Log, FloatTypes>},
    {"", "Mish", "mish_reference", MakeUnary<f::Mish, FloatTypes>},
    {"", "Neg", "neg_reference", MakeUnary<f::Neg, SignedNumericTypes, kCheapGrain>},
    {"", "Not", "not_reference", MakeNot},
    {"", "Reciprocal", "reciprocal_reference", MakeUnary<f::Reciprocal, FloatTypes, kCheapGrain>},
    {"", "Relu", "relu_reference", MakeUnary<f::Relu, SignedNumericTypes, kCheapGrain>},
    {"", "Round", "round_reference", MakeUnary<f::Round, FloatTypes>},
    {"", "Selu", "selu_reference", MakeUnary<f::Selu, FloatTypes>},
    {"", "Shrink", "shrink_reference", MakeUnary<f::Shrink, NumericTypes, kCheapGrain>},
    {"", "Sigmoid", "sigmoid_reference", MakeUnary<f::Sigmoid, FloatTypes>},
    {"", "Sign", "sign_reference", MakeUnary<f::Sign, NumericTypes, kCheapGrain>},
    {"", "Sin", "sin_reference", MakeUnary<f::Sin, FloatTypes>},
    {"", "Sinh", "sinh_reference", MakeUnary<f::Sinh, FloatTypes>},
    {"", "Softplus", "softplus_reference", MakeUnary<f::Softplus, FloatTypes>},
    {"", "Softsign", "softsign_reference", MakeUnary<f::Softsign, FloatTypes, kCheapGrain>},
    {"", "Sqrt", "sqrt_reference", MakeUnary<f::Sqrt, FloatTypes, kCheapGrain>},
    {"", "Swish", "swish_reference", MakeUnary<f::Swish, FloatTypes>},
    {"", "Tan", "tan_reference", MakeUnary<f::Tan, FloatTypes>},
    {"", "Tanh", "tanh_reference", MakeUnary<f::Tanh, FloatTypes>},
    {"", "ThresholdedRelu", "thresholded_relu_reference",
     MakeUnary<f::ThresholdedRelu, FloatTypes, kCheapGrain>},
};

}  // namespace

KernelList ReferenceUnary() { return kKernels; }

}  // namespace onward::kernels::cpu
