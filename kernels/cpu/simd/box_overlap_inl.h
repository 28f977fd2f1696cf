#pragma once

#include "kernels/cpu/simd/box_overlap.h"
#include "kernels/cpu/simd/vec_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

// All bits of the lanes where the overlap is enough.
ONWARD_INLINE IVec Overlaps(const BoxColumns& boxes, const Box& box, float share, int64_t i) {
  const Vec width =
      Min(Load(boxes.x_max + i), Set(box.x_max)) - Max(Load(boxes.x_min + i), Set(box.x_min));
  const Vec height =
      Min(Load(boxes.y_max + i), Set(box.y_max)) - Max(Load(boxes.y_min + i), Set(box.y_min));
  const Vec both = width * height;
  const Vec all = Load(boxes.area + i) + box.area;
  return (width > Vec{}) & (height > Vec{}) & (both >= (all - both) * share);
}

// Bit i is the sign of lane i.
ONWARD_INLINE uint32_t LaneBits(IVec mask) {
#if defined(ONWARD_TARGET_AVX512)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask));
#elif defined(ONWARD_TARGET_AVX2)
  return static_cast<uint32_t>(_mm256_movemask_ps(FromBits(mask)));
#elif defined(__x86_64__)
  return static_cast<uint32_t>(_mm_movemask_ps(FromBits(mask)));
#else
  uint32_t bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= mask[i] < 0 ? 1u << i : 0;
  return bits;
#endif
}

int64_t FirstOverlap(const BoxColumns& boxes, const Box& box, float share, int64_t begin,
                     int64_t end) {
  for (int64_t i = begin; i < end; i += kLanes) {
    const uint32_t lanes = LaneBits(Overlaps(boxes, box, share, i));
    if (lanes == 0) continue;
    const int64_t first = i + __builtin_ctz(lanes);
    return first < end ? first : end;
  }
  return end;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
