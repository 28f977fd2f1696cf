#include "kernels/cpu/saved_floats.h"

#include <algorithm>

#include "kernels/cpu/simd/half_loops.h"
#include "onward/small_float.h"

namespace onward::kernels::cpu {
namespace {

void WidenBFloats(const void* from, float* to, int64_t count) {
  kBFloatsPerTarget.For(VectorTarget())().to_float(from, to, count, {});
}

void WidenHalves(const void* from, float* to, int64_t count) {
  if (const auto loops = kHalvesPerTarget.For(VectorTarget()))
    return loops().to_float(from, to, count, {});
  const auto* halves = static_cast<const Float16*>(from);
  std::copy(halves, halves + count, to);
}

}  // namespace

SavedFloats::SavedFloats(const TensorView& tensor)
    : data_(tensor.data),
      widen_(tensor.dtype == DType::kBFloat16  ? WidenBFloats
             : tensor.dtype == DType::kFloat16 ? WidenHalves
                                               : nullptr) {}

void SavedFloats::Widen(int64_t at, int64_t count, float* to) const {
  widen_(static_cast<const uint16_t*>(data_) + at, to, count);
}

}  // namespace onward::kernels::cpu
