// Arithmetic, comparisons and logic of two operands.
#include "kernels/cuda/binary.cuh"

namespace onward::kernels::cuda {
namespace {

namespace f = functors;

using BoolTypes = TypeList<bool>;

constexpr KernelEntry kKernels[] = {
    {"", "Add", "add_cuda", MakeBinary<f::Add>},
    {"", "And", "and_cuda", MakeBinary<f::BitwiseAnd, BoolTypes>},
    {"", "Div", "div_cuda", MakeBinary<f::Div>},
    {"", "Equal", "equal_cuda", MakeBinary<f::Equal, Concat<BinaryTypes, BoolTypes>>},
    {"", "Greater", "greater_cuda", MakeBinary<f::Greater>},
    {"", "GreaterOrEqual", "greater_or_equal_cuda", MakeBinary<f::GreaterOrEqual>},
    {"", "Less", "less_cuda", MakeBinary<f::Less>},
    {"", "LessOrEqual", "less_or_equal_cuda", MakeBinary<f::LessOrEqual>},
    {"", "Mul", "mul_cuda", MakeBinary<f::Mul>},
    {"", "Or", "or_cuda", MakeBinary<f::BitwiseOr, BoolTypes>},
    {"", "Sub", "sub_cuda", MakeBinary<f::Sub>},
    {"", "Xor", "xor_cuda", MakeBinary<f::BitwiseXor, BoolTypes>},
};

}  // namespace

KernelList BinaryKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
