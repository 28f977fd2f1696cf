// Elementwise math of one operand.
#include "kernels/cuda/unary.cuh"

namespace onward::kernels::cuda {
namespace {

namespace f = functors;

using SignedTypes = Concat<FloatTypes, TypeList<int32_t, int64_t>>;

constexpr KernelEntry kKernels[] = {
    {"", "Abs", "abs_cuda", MakeUnary<f::Abs, SignedTypes>},
    {"", "Acos", "acos_cuda", MakeUnary<f::Acos>},
    {"", "Acosh", "acosh_cuda", MakeUnary<f::Acosh>},
    {"", "Asin", "asin_cuda", MakeUnary<f::Asin>},
    {"", "Asinh", "asinh_cuda", MakeUnary<f::Asinh>},
    {"", "Atan", "atan_cuda", MakeUnary<f::Atan>},
    {"", "Atanh", "atanh_cuda", MakeUnary<f::Atanh>},
    {"", "BitwiseNot", "bitwise_not_cuda",
     MakeUnary<f::BitwiseNot, TypeList<uint8_t, int32_t, int64_t>>},
    {"", "Ceil", "ceil_cuda", MakeUnary<f::Ceil>},
    {"", "Cos", "cos_cuda", MakeUnary<f::Cos>},
    {"", "Cosh", "cosh_cuda", MakeUnary<f::Cosh>},
    {"", "Erf", "erf_cuda", MakeUnary<f::Erf>},
    {"", "Exp", "exp_cuda", MakeUnary<f::Exp>},
    {"", "Floor", "floor_cuda", MakeUnary<f::Floor>},
    {"", "IsInf", "is_inf_cuda", MakeUnary<f::IsInf>},
    {"", "IsNaN", "is_nan_cuda", MakeUnary<f::IsNaN>},
    {"", "Log", "log_cuda", MakeUnary<f::Log>},
    {"", "Neg", "neg_cuda", MakeUnary<f::Neg, SignedTypes>},
    {"", "Not", "not_cuda", MakeUnary<f::Not, TypeList<bool>>},
    {"", "Reciprocal", "reciprocal_cuda", MakeUnary<f::Reciprocal>},
    {"", "Round", "round_cuda", MakeUnary<f::Round>},
    {"", "Sign", "sign_cuda", MakeUnary<f::Sign, SignedTypes>},
    {"", "Sin", "sin_cuda", MakeUnary<f::Sin>},
    {"", "Sinh", "sinh_cuda", MakeUnary<f::Sinh>},
    {"", "Sqrt", "sqrt_cuda", MakeUnary<f::Sqrt>},
    {"", "Tan", "tan_cuda", MakeUnary<f::Tan>},
    {"", "Tanh", "tanh_cuda", MakeUnary<f::Tanh>},
};

}  // namespace

KernelList UnaryKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
