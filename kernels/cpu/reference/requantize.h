// Pieces of the products of quantized tensors.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/base/checked.h"
#include "kernels/bind/requantized.h"
#include "onward/dtype.h"
#include "onward/kernel.h"
#include "onward/tensor.h"

namespace onward::kernels::cpu {

using QuantizedTypes =
    TypeList<int8_t, uint8_t, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ>;

// Returns whether an input has one element, as types tell when a kernel is made, or is left out.
inline bool IsOneValue(const NodeSpec& spec, int i) {
  if (i < 0 || !spec.has_input(i)) return true;
  const std::optional<Dims> dims = spec.input_type(i).static_dims();
  return dims && SaturatedNumElements(*dims) == 1;
}

inline TensorView OptionalInput(const RunContext& context, int i) {
  return context.has_input(i) ? context.input(i) : TensorView();
}

// A scale or zero point that is one value or one per line; line numbers may run over all batches
// while the values cover one.
template <typename V>
class LineValues {
 public:
  explicit LineValues(const TensorView& view)
      : view_(view), count_(view.data == nullptr ? 0 : view.num_elements()) {
    if (count_ == 1) only_ = Read(0);
  }
  V operator[](int64_t line) const { return count_ <= 1 ? only_ : Read(line % count_); }

 private:
  V Read(int64_t index) const {
    V value = V(0);
    DispatchDType(Concat<QuantizedTypes, TypeList<float, Float16, BFloat16>>(), view_.dtype,
                  [&](auto tag) {
                    using T = typename decltype(tag)::type;
                    if constexpr (std::is_integral_v<T>) {
                      value = static_cast<V>(view_.as<const T>()[index]);
                    } else if constexpr (std::is_floating_point_v<V>) {
                      value = static_cast<V>(view_.as<const T>()[index]);
                    }
                  });
    return value;
  }

  TensorView view_;
  int64_t count_;
  V only_ = V(0);
};

// Elements [begin, begin + count) minus `zero`. Acc is uint32_t (integers, wrapping) or float.
template <typename Acc>
void LoadShifted(const TensorView& view, int64_t begin, int64_t count, Acc zero, Acc* out) {
  using Types =
      std::conditional_t<std::is_integral_v<Acc>, TypeList<int8_t, uint8_t>,
                         TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ>>;
  DispatchDType(Types(), view.dtype, [&](auto tag) {
    const auto* from = view.as<const typename decltype(tag)::type>() + begin;
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Acc>(from[i]) - zero;
  });
}

inline double AsSigned(uint32_t sum) { return static_cast<double>(static_cast<int32_t>(sum)); }
inline double AsSigned(float sum) { return static_cast<double>(sum); }

// Writes sums * scale + zero point, rounded and saturated to the output's type.
class Requantizer {
 public:
  Requantizer(const TensorView& out, const TensorView& zero)
      : out_(out), zero_(static_cast<double>(LineValues<float>(zero)[0])) {}

  void Store(int64_t index, double sum, float scale) const {
    const double scaled = sum * static_cast<double>(scale);
    DispatchDType(QuantizedTypes(), out_.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>) {
        out_.as<T>()[index] = Requantized(scaled, static_cast<T>(zero_));
      } else {
        out_.as<T>()[index] = T(static_cast<float>(scaled + zero_));
      }
    });
  }

 private:
  TensorView out_;
  double zero_;
};

}  // namespace onward::kernels::cpu
