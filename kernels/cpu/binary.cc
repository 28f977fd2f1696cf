// Arithmetic of two float32 operands, on the vectors of one instruction set.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/binary.h"

namespace onward::kernels::cpu {
namespace {

template <FloatBinary kOp, InstructionSet kSet>
void RunTile(const BroadcastTile<2>& tile, const void* a_data, const void* b_data, void* out_data,
             const LoopParameters&) {
  const FloatBinaryLoop loop = kBinaryPerTarget.For(kSet)(kOp);
  const float* a = static_cast<const float*>(a_data) + tile.offset[0];
  const float* b = static_cast<const float*>(b_data) + tile.offset[1];
  float* out = static_cast<float*>(out_data) + tile.out_offset;
  for (int64_t row = 0; row < tile.rows; ++row) {
    loop(a, tile.column_stride[0], b, tile.column_stride[1], out, tile.columns);
    a += tile.row_stride[0];
    b += tile.row_stride[1];
    out += tile.columns;
  }
}

template <FloatBinary kOp, InstructionSet kSet>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec, kSet));
  return std::make_unique<BinaryKernel>(
      RunTile<kOp, kSet>, true, LoopParameters(), kCheapGrain,
      kOp == FloatBinary::kPRelu ? Broadcasting::kToFirst : Broadcasting::kMultidirectional);
}

template <FloatBinary kOp>
constexpr FastKernelRow Row(std::string_view op, std::string_view name) {
  return {"",
          op,
          name,
          {Make<kOp, InstructionSet::kBaseline>, Make<kOp, InstructionSet::kAvx2>,
           Make<kOp, InstructionSet::kAvx512>}};
}

constexpr FastKernelRow kRows[] = {
    Row<FloatBinary::kAdd>("Add", "add"), Row<FloatBinary::kDiv>("Div", "div"),
    Row<FloatBinary::kMul>("Mul", "mul"), Row<FloatBinary::kPRelu>("PRelu", "prelu"),
    Row<FloatBinary::kSub>("Sub", "sub"),
};

}  // namespace

KernelList BinaryKernels() {
  static const std::vector<KernelEntry> kEntries = FastKernelEntries(kRows);
  return kEntries;
}

}  // namespace onward::kernels::cpu
