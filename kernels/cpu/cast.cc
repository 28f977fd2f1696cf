// Cast and CastLike between float32 and floats of 16 bits, by vectors.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/half_loops.h"

namespace onward::kernels::cpu {
namespace {

// Null where the target has none.
const HalfLoops* LoopsOf(DType dtype, Target target) {
  if (dtype == DType::kBFloat16) return &kBFloatsPerTarget.For(target)();
  const auto halves = dtype == DType::kFloat16 ? kHalvesPerTarget.For(target) : nullptr;
  return halves == nullptr ? nullptr : &halves();
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  const DType from = spec.input_dtype(0), to = spec.output_dtype(0);
  const bool narrows = from == DType::kFloat32;
  const HalfLoops* loops = LoopsOf(narrows ? to : from, TargetOf(spec));
  if ((!narrows && to != DType::kFloat32) || loops == nullptr) {
    return absl::UnimplementedError("between float32 and 16-bit floats only; float16 needs avx2");
  }
  const size_t in_size = narrows ? sizeof(float) : sizeof(uint16_t);
  const size_t out_size = narrows ? sizeof(uint16_t) : sizeof(float);
  return std::make_unique<UnaryKernel>(narrows ? loops->from_float : loops->to_float, in_size,
                                       out_size, LoopParameters(), kCheapGrain);
}

constexpr KernelEntry kKernels[] = {
    {"", "Cast", "cast_half", Make, kVectorTargets},
    {"", "CastLike", "cast_like_half", Make, kVectorTargets},
};

}  // namespace

KernelList CastKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
