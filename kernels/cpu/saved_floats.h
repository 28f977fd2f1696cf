// Values of the forward pass that the way back reads: float32, or 16 bits to save memory.
#pragma once

#include "onward/kernel.h"

namespace onward::kernels::cpu {

inline bool IsSavedNarrow(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

class SavedFloats {
 public:
  explicit SavedFloats(const TensorView& tensor);

  bool narrow() const { return widen_ != nullptr; }
  // `count` elements from `at` on: where they lie or, of narrow ones, widened into `scratch`, which
  // has room for so many.
  const float* Read(int64_t at, int64_t count, float* scratch) const {
    if (!narrow()) return static_cast<const float*>(data_) + at;
    Widen(at, count, scratch);
    return scratch;
  }

 private:
  void Widen(int64_t at, int64_t count, float* to) const;

  const void* data_;
  void (*widen_)(const void* from, float* to, int64_t count);  // null: float32
};

}  // namespace onward::kernels::cpu
