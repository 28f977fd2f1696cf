// Cast and CastLike between float32 and floats of 16 bits, by vectors.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/half_loops.h"

namespace onward::kernels::cpu {
namespace {

// Null where the set has none.
const HalfLoops* LoopsOf(DType dtype, InstructionSet set) {
  if (!Supports(set)) return nullptr;
  if (dtype == DType::kBFloat16) return &kBFloatsPerTarget.For(set)();
  const auto halves = dtype == DType::kFloat16 ? kHalvesPerTarget.For(set) : nullptr;
  return halves == nullptr ? nullptr : &halves();
}

template <InstructionSet kSet>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  const DType from = spec.input_dtype(0), to = spec.output_dtype(0);
  const bool narrows = from == DType::kFloat32;
  const HalfLoops* loops = LoopsOf(narrows ? to : from, kSet);
  if ((!narrows && to != DType::kFloat32) || loops == nullptr) {
    return absl::UnimplementedError(
        "between float32 and 16-bit floats only, or not allowed, or not supported");
  }
  const size_t in_size = narrows ? sizeof(float) : sizeof(uint16_t);
  const size_t out_size = narrows ? sizeof(uint16_t) : sizeof(float);
  return std::make_unique<UnaryKernel>(narrows ? loops->from_float : loops->to_float, in_size,
                                       out_size, LoopParameters(), kCheapGrain);
}

constexpr FastKernelRow kRows[] = {
    {"",
     "Cast",
     "cast_half",
     {Make<InstructionSet::kBaseline>, Make<InstructionSet::kAvx2>, Make<InstructionSet::kAvx512>}},
    {"",
     "CastLike",
     "cast_like_half",
     {Make<InstructionSet::kBaseline>, Make<InstructionSet::kAvx2>, Make<InstructionSet::kAvx512>}},
};

}  // namespace

KernelList CastKernels() {
  static const std::vector<KernelEntry> kEntries = FastKernelEntries(kRows);
  return kEntries;
}

}  // namespace onward::kernels::cpu
