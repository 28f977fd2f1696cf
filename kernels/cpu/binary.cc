// Arithmetic of two float32 operands, and sums of bfloat16, on the vectors of one instruction set.
#include "kernels/cpu/simd/binary.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/channels_last_loops.h"

namespace onward::kernels::cpu {
namespace {

template <typename T, typename Loop>
void RunRows(const BroadcastTile<2>& tile, const void* a_data, const void* b_data, void* out_data,
             Loop loop) {
  const T* a = static_cast<const T*>(a_data) + tile.offset[0];
  const T* b = static_cast<const T*>(b_data) + tile.offset[1];
  T* out = static_cast<T*>(out_data) + tile.out_offset;
  for (int64_t row = 0; row < tile.rows; ++row) {
    loop(a, tile.column_stride[0], b, tile.column_stride[1], out, tile.columns);
    a += tile.row_stride[0];
    b += tile.row_stride[1];
    out += tile.columns;
  }
}

template <FloatBinary kOp, Target kTarget>
void RunTile(const BroadcastTile<2>& tile, const void* a, const void* b, void* out,
             const LoopParameters&) {
  RunRows<float>(tile, a, b, out, kBinaryPerTarget.For(kTarget)(kOp));
}

template <FloatBinary kOp, int... I>
BinaryLoop TileLoop(Target target, std::integer_sequence<int, I...>) {
  constexpr BinaryLoop kLoops[] = {RunTile<kOp, static_cast<Target>(I)>...};
  return kLoops[static_cast<int>(target)];
}

template <FloatBinary kOp>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  return std::make_unique<BinaryKernel>(
      TileLoop<kOp>(TargetOf(spec), std::make_integer_sequence<int, kNumTargets>()), true,
      LoopParameters(), kOp == FloatBinary::kPow ? 4 * kMathGrain : kCheapGrain,
      kOp == FloatBinary::kPRelu ? Broadcasting::kToFirst : Broadcasting::kMultidirectional);
}

template <FloatBinary kOp>
constexpr KernelEntry Row(std::string_view op, std::string_view name) {
  return {"", op, name, Make<kOp>, kVectorTargets};
}

template <Target kTarget>
void SumTile(const BroadcastTile<2>& tile, const void* a, const void* b, void* out,
             const LoopParameters&) {
  RunRows<uint16_t>(tile, a, b, out, kLastLoopsPerTarget.For(kTarget)().sum);
}

template <int... I>
BinaryLoop SumLoop(Target target, std::integer_sequence<int, I...>) {
  constexpr BinaryLoop kLoops[] = {SumTile<static_cast<Target>(I)>...};
  return kLoops[static_cast<int>(target)];
}

// Adds bfloat16. Numbers below the least normal one count as zero.
absl::StatusOr<std::unique_ptr<Kernel>> MakeSum(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckBf16Products(spec));
  if (spec.input_dtype(0) != DType::kBFloat16) return absl::UnimplementedError("bfloat16 only");
  return std::make_unique<BinaryKernel>(
      SumLoop(TargetOf(spec), std::make_integer_sequence<int, kNumTargets>()), true,
      LoopParameters(), kCheapGrain, Broadcasting::kMultidirectional);
}

constexpr KernelEntry kKernels[] = {
    Row<FloatBinary::kAdd>("Add", "add"),           Row<FloatBinary::kDiv>("Div", "div"),
    Row<FloatBinary::kMul>("Mul", "mul"),           Row<FloatBinary::kPow>("Pow", "pow"),
    Row<FloatBinary::kPRelu>("PRelu", "prelu"),     Row<FloatBinary::kSub>("Sub", "sub"),
    {"", "Add", "add_bf16", MakeSum, kBf16Targets},
};

}  // namespace

KernelList BinaryKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
