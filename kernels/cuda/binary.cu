// Arithmetic, comparisons and logic of two operands.
#if defined(__CUDACC__)
#pragma nv_diag_suppress 186  // the functors of BitShift compare unsigned numbers with 0, too
#endif

#include "kernels/cuda/binary.cuh"

namespace onward::kernels::cuda {
namespace {

namespace f = functors;

using BoolTypes = TypeList<bool>;
using WholeTypes = TypeList<uint8_t, int32_t, int64_t>;

absl::StatusOr<std::unique_ptr<Kernel>> MakeMod(const NodeSpec& spec) {
  return spec.attributes().Int("fmod", 0) != 0 ? MakeBinary<f::ModTruncate>(spec)
                                               : MakeBinary<f::ModFloor>(spec);
}

// The standard shifts no numbers with a sign.
using ShiftTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t>;

absl::StatusOr<std::unique_ptr<Kernel>> MakeBitShift(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const bool left, ShiftsLeft(spec));
  return left ? MakeBinary<f::BitShiftLeft, ShiftTypes>(spec)
              : MakeBinary<f::BitShiftRight, ShiftTypes>(spec);
}

constexpr KernelEntry kKernels[] = {
    {"", "Add", "add_cuda", MakeBinary<f::Add>},
    {"", "And", "and_cuda", MakeBinary<f::BitwiseAnd, BoolTypes>},
    {"", "BitShift", "bit_shift_cuda", MakeBitShift},
    {"", "BitwiseAnd", "bitwise_and_cuda", MakeBinary<f::BitwiseAnd, WholeTypes>},
    {"", "BitwiseOr", "bitwise_or_cuda", MakeBinary<f::BitwiseOr, WholeTypes>},
    {"", "BitwiseXor", "bitwise_xor_cuda", MakeBinary<f::BitwiseXor, WholeTypes>},
    {"", "Div", "div_cuda", MakeBinary<f::Div>},
    {"", "Equal", "equal_cuda", MakeBinary<f::Equal, Concat<BinaryTypes, BoolTypes>>},
    {"", "Greater", "greater_cuda", MakeBinary<f::Greater>},
    {"", "GreaterOrEqual", "greater_or_equal_cuda", MakeBinary<f::GreaterOrEqual>},
    {"", "Less", "less_cuda", MakeBinary<f::Less>},
    {"", "LessOrEqual", "less_or_equal_cuda", MakeBinary<f::LessOrEqual>},
    {"", "Mod", "mod_cuda", MakeMod},
    {"", "Mul", "mul_cuda", MakeBinary<f::Mul>},
    {"", "Or", "or_cuda", MakeBinary<f::BitwiseOr, BoolTypes>},
    {"", "PRelu", "prelu_cuda", MakeBinary<f::PRelu, BinaryTypes, true>},
    {"", "Sub", "sub_cuda", MakeBinary<f::Sub>},
    {"", "SwiGLU", "swiglu_cuda", MakeBinary<f::SwiGlu, FloatTypes, false, true>},
    {"", "Xor", "xor_cuda", MakeBinary<f::BitwiseXor, BoolTypes>},
};

}  // namespace

KernelList BinaryKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
