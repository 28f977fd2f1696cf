// Comparisons and logic of two operands, with a bool result.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

namespace f = functors;

using BoolTypes = TypeList<bool>;
using EqualTypes = Concat<NumericTypes, BoolTypes>;

// Strings have no compute type: compared in place.
void EqualStrings(const BroadcastTile<2>& tile, const void* a_data, const void* b_data,
                  void* out_data, const LoopParameters&) {
  const auto* a = static_cast<const std::string*>(a_data) + tile.offset[0];
  const auto* b = static_cast<const std::string*>(b_data) + tile.offset[1];
  bool* out = static_cast<bool*>(out_data) + tile.out_offset;
  for (int64_t row = 0; row < tile.rows; ++row) {
    for (int64_t i = 0; i < tile.columns; ++i) {
      *out++ = a[row * tile.row_stride[0] + i * tile.column_stride[0]] ==
               b[row * tile.row_stride[1] + i * tile.column_stride[1]];
    }
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeEqual(const NodeSpec& spec) {
  if (spec.input_dtype(0) == DType::kString)
    return std::make_unique<BinaryKernel>(EqualStrings, false, LoopParameters(), kMathGrain);
  return MakeBinary<f::Equal, EqualTypes>(spec);
}

constexpr KernelEntry kKernels[] = {
    {"", "And", "and_reference", MakeBinary<f::BitwiseAnd, BoolTypes>},
    {"", "Equal", "equal_reference", MakeEqual},
    {"", "Greater", "greater_reference", MakeBinary<f::Greater, NumericTypes>},
    {"", "GreaterOrEqual", "greater_or_equal_reference",
     MakeBinary<f::GreaterOrEqual, NumericTypes>},
    {"", "Less", "less_reference", MakeBinary<f::Less, NumericTypes>},
    {"", "LessOrEqual", "less_or_equal_reference", MakeBinary<f::LessOrEqual, NumericTypes>},
    {"", "Or", "or_reference", MakeBinary<f::BitwiseOr, BoolTypes>},
    {"", "Xor", "xor_reference", MakeBinary<f::BitwiseXor, BoolTypes>},
};

}  // namespace

KernelList ReferenceCompare() { return kKernels; }

}  // namespace onward::kernels::cpu
