// Elementwise arithmetic of two operands.
#include "kernels/bind/binary.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

namespace f = functors;

using PReluTypes = Concat<FloatTypes, TypeList<int32_t, int64_t, uint32_t, uint64_t>>;

absl::StatusOr<std::unique_ptr<Kernel>> MakeMod(const NodeSpec& spec) {
  if (spec.attributes().Int("fmod", 0) != 0)
    return MakeBinary<f::ModTruncate, NumericTypes, kMathGrain>(spec);
  return MakeBinary<f::ModFloor, NumericTypes, kMathGrain>(spec);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBitShift(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const bool left, ShiftsLeft(spec));
  return left ? MakeBinary<f::BitShiftLeft, IntegerTypes>(spec)
              : MakeBinary<f::BitShiftRight, IntegerTypes>(spec);
}

constexpr KernelEntry kKernels[] = {
    {"", "Add", "add_reference", MakeBinary<f::Add, NumericTypes>},
    {"", "BitShift", "bit_shift_reference", MakeBitShift},
    {"", "BitwiseAnd", "bitwise_and_reference", MakeBinary<f::BitwiseAnd, IntegerTypes>},
    {"", "BitwiseOr", "bitwise_or_reference", MakeBinary<f::BitwiseOr, IntegerTypes>},
    {"", "BitwiseXor", "bitwise_xor_reference", MakeBinary<f::BitwiseXor, IntegerTypes>},
    {"", "Div", "div_reference", MakeBinary<f::Div, NumericTypes>},
    {"", "Mod", "mod_reference", MakeMod},
    {"", "Mul", "mul_reference", MakeBinary<f::Mul, NumericTypes>},
    {"", "PRelu", "prelu_reference",
     MakeBinary<f::PRelu, PReluTypes, kCheapGrain, Broadcasting::kToFirst>},
    {"", "Sub", "sub_reference", MakeBinary<f::Sub, NumericTypes>},
    {"", "SwiGLU", "swiglu_reference",
     MakeBinary<f::SwiGlu, FloatTypes, kMathGrain, Broadcasting::kNone>},
};

}  // namespace

KernelList ReferenceBinary() { return kKernels; }

}  // namespace onward::kernels::cpu
