// Cast and CastLike between float32 and float16, by the instructions that processors have for it.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/half_loops.h"

namespace onward::cpu {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> MakeHalfCast(const NodeSpec& spec, const HalfLoops& loops) {
  const DType from = spec.input_dtype(0), to = spec.output_dtype(0);
  if (from == DType::kFloat32 && to == DType::kFloat16)
    return std::make_unique<UnaryKernel>(loops.from_float, sizeof(float), sizeof(uint16_t),
                                         LoopParameters(), kCheapGrain);
  if (from == DType::kFloat16 && to == DType::kFloat32)
    return std::make_unique<UnaryKernel>(loops.to_float, sizeof(uint16_t), sizeof(float),
                                         LoopParameters(), kCheapGrain);
  return absl::UnimplementedError("between float32 and float16 only");
}

template <InstructionSet kSet>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
#if defined(__x86_64__)
  if (Supports(kSet))
    return MakeHalfCast(spec, kSet == InstructionSet::kAvx512 ? avx512::Halves() : avx2::Halves());
#endif
  return absl::UnimplementedError("not allowed or not supported");
}

constexpr KernelEntry kKernels[] = {
    {"", "Cast", "cast_half_avx512", Make<InstructionSet::kAvx512>},
    {"", "Cast", "cast_half_avx2", Make<InstructionSet::kAvx2>},
    {"", "CastLike", "cast_like_half_avx512", Make<InstructionSet::kAvx512>},
    {"", "CastLike", "cast_like_half_avx2", Make<InstructionSet::kAvx2>},
};

}  // namespace

KernelList CastKernels() { return kKernels; }

}  // namespace onward::cpu
