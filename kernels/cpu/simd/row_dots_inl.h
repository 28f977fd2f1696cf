#pragma once

#include "kernels/cpu/simd/doubles_inl.h"
#include "kernels/cpu/simd/row_dots.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

inline constexpr int kDotVectors = 4;  // that share the loads of a row

struct AddProducts {
  static ONWARD_INLINE Doubles Next(Doubles sum, Doubles x, Doubles y) { return sum + x * y; }
};
struct AddSquares {
  static ONWARD_INLINE Doubles Next(Doubles sum, Doubles x, Doubles y) {
    const Doubles difference = x - y;
    return sum + difference * difference;
  }
};

// kRows rows of x times kVectors vectors.
template <typename Op, int kRows, int kVectors, typename T>
ONWARD_INLINE void DotBlock(const T* x, const double* vectors, int64_t count, int64_t to_row,
                            double* to) {
  Doubles sums[kRows][kVectors] = {};
  const auto add = [&](auto&& load, int64_t i) ONWARD_LAMBDA_INLINE {
    Doubles rows[kRows];
    ONWARD_UNROLL
    for (int r = 0; r < kRows; ++r) rows[r] = load(x + r * count + i);
    ONWARD_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const Doubles vector = load(vectors + v * count + i);
      ONWARD_UNROLL
      for (int r = 0; r < kRows; ++r) sums[r][v] = Op::Next(sums[r][v], rows[r], vector);
    }
  };
  const auto whole = [](const auto* p) ONWARD_LAMBDA_INLINE { return LoadDoubles(p); };
  int64_t i = 0;
  for (; i + kDoubles <= count; i += kDoubles) add(whole, i);
  if (const int rest = static_cast<int>(count - i); rest > 0) {
    const auto first = [rest](const auto* p)
                           ONWARD_LAMBDA_INLINE { return LoadFirstDoubles(p, rest); };
    add(first, i);
  }
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ONWARD_UNROLL
    for (int v = 0; v < kVectors; ++v) to[r * to_row + v] = SumDoubles(sums[r][v]);
  }
}

template <typename Op, int kRows, typename T>
ONWARD_INLINE void DotRows(const T* x, const double* vectors, int64_t num_vectors, int64_t count,
                           double* sums) {
  int64_t v = 0;
  for (; v + kDotVectors <= num_vectors; v += kDotVectors)
    DotBlock<Op, kRows, kDotVectors>(x, vectors + v * count, count, num_vectors, sums + v);
  const double* rest = vectors + v * count;
  switch (num_vectors - v) {
    case 3:
      return DotBlock<Op, kRows, 3>(x, rest, count, num_vectors, sums + v);
    case 2:
      return DotBlock<Op, kRows, 2>(x, rest, count, num_vectors, sums + v);
    case 1:
      return DotBlock<Op, kRows, 1>(x, rest, count, num_vectors, sums + v);
  }
}

template <typename Op, typename T>
void EachDot(const T* x, int64_t rows, const double* vectors, int64_t num_vectors, int64_t count,
             double* sums) {
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2)
    DotRows<Op, 2>(x + row * count, vectors, num_vectors, count, sums + row * num_vectors);
  if (row < rows)
    DotRows<Op, 1>(x + row * count, vectors, num_vectors, count, sums + row * num_vectors);
}

const RowDots& DotsOfRows() {
  static constexpr RowDots kDots = {EachDot<AddProducts, float>, EachDot<AddProducts, double>,
                                    EachDot<AddSquares, double>};
  return kDots;
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
