// The sums of a tile in registers: how they start, are multiplied, and are stored.
#pragma once

#include "kernels/cpu/simd/activation_inl.h"
#include "kernels/cpu/simd/gemm_tile.h"
#include "kernels/cpu/simd/tile_io_inl.h"

namespace onward::kernels::cpu::ONWARD_TARGET {

#if defined(ONWARD_TARGET_AMX)
inline constexpr int kTileRows = 4;  // more are of gemm_amx_inl.h
#else
// Accumulators, two of B and one of A fill the registers.
inline constexpr int kTileRows = kRegisters == 32 ? 12 : 6;
#endif
inline constexpr int kTileVecs = 2;
inline constexpr int kTileCols = kTileVecs * kLanes;

// Few rows have too few accumulators to hide the latency of an addition, so they take several steps
// of K at once. The last, narrower columns take as many: equal columns give equal bits.
inline constexpr int KSteps(int rows) {
  const int chains = rows * kTileVecs;
  return chains >= 8 ? 1 : chains >= 4 ? 2 : chains >= 2 ? 4 : 8;
}

// An element of A in every lane, and its products added to sums.
#if defined(ONWARD_TARGET_AVX512BF16)
ONWARD_INLINE Vec SetElement(const float* pair) { return _mm512_set1_ps(*pair); }
ONWARD_INLINE Vec MultiplyAdd(Vec a, Vec b, Vec sum) {
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}
#else
ONWARD_INLINE Vec SetElement(const float* x) { return Set(*x); }
ONWARD_INLINE Vec MultiplyAdd(Vec a, Vec b, Vec sum) { return Fma(a, b, sum); }
#endif

template <int kRows, int kVecs>
struct TileSums {
  Vec at[kRows][kVecs];
};

template <int kRows, int kVecs, bool kPackedRows>
ONWARD_INLINE void MultiplyStep(const float* a, int64_t a_row, const Vec (&b)[kVecs],
                                TileSums<kRows, kVecs>& sums) {
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const Vec x = SetElement(a + (kPackedRows ? r : r * a_row));
    ONWARD_UNROLL
    for (int v = 0; v < kVecs; ++v) sums.at[r][v] = MultiplyAdd(x, b[v], sums.at[r][v]);
  }
}

// kEdge: the last vector of B has `last` lanes and must not be read beyond.
template <int kVecs, bool kEdge>
ONWARD_INLINE void LoadRowOfB(const float* b, int last, Vec (&row)[kVecs]) {
  ONWARD_UNROLL
  for (int v = 0; v < kVecs; ++v) {
    row[v] = kEdge && v == kVecs - 1 ? LoadN(b + v * kLanes, last) : Load(b + v * kLanes);
  }
}

// Touches what the tile fetches; where it fetches nothing, its own B, which costs no branch.
struct Fetcher {
  const float* at;
  int64_t step;
  ONWARD_INLINE explicit Fetcher(const GemmTile& t)
      : at(t.fetch.from == nullptr ? t.b : t.fetch.from), step(t.fetch.step) {}
  ONWARD_INLINE void Next() {
    __builtin_prefetch(at);
    at += step;
  }
};

template <int kRows, int kVecs, bool kPackedRows, bool kEdge>
ONWARD_INLINE void Multiply(const GemmTile& t, int last, TileSums<kRows, kVecs>& sums) {
  constexpr int kSteps = KSteps(kRows);
  const int64_t a_row = t.a_row, a_k = kPackedRows ? t.a_k : 1, b_k = t.b_k;
  const float* a = t.a;
  const float* b = t.b;
  int64_t k = t.k;
  Fetcher fetcher(t);
  if constexpr (kSteps > 1) {
    TileSums<kRows, kVecs> partial[kSteps - 1] = {};
    for (; k >= kSteps; k -= kSteps) {
      ONWARD_UNROLL
      for (int s = 0; s < kSteps; ++s) {
        fetcher.Next();
        Vec row[kVecs];
        LoadRowOfB<kVecs, kEdge>(b + s * b_k, last, row);
        MultiplyStep<kRows, kVecs, kPackedRows>(a + s * a_k, a_row, row,
                                                s == 0 ? sums : partial[s == 0 ? 0 : s - 1]);
      }
      a += kSteps * a_k;
      b += kSteps * b_k;
    }
    for (int s = 0; s < kSteps - 1; ++s) {
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVecs; ++v) sums.at[r][v] += partial[s].at[r][v];
      }
    }
  }
  for (; k > 0; --k, a += a_k, b += b_k) {
    fetcher.Next();
    Vec row[kVecs];
    LoadRowOfB<kVecs, kEdge>(b, last, row);
    MultiplyStep<kRows, kVecs, kPackedRows>(a, a_row, row, sums);
  }
}

// Calls f(r, v, first column, lanes) for every vector of the tile; all lanes but maybe in the last.
template <int kRows, int kVecs, typename F>
ONWARD_INLINE void ForEachVec(int last, F&& f) {
  ONWARD_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ONWARD_UNROLL
    for (int v = 0; v < kVecs; ++v) f(r, v, v == kVecs - 1 ? last : kLanes);
  }
}
template <int kRows, int kVecs>
ONWARD_INLINE void StartSums(const GemmTile& t, int last, TileSums<kRows, kVecs>& sums) {
  if (t.accumulate) {
    ForEachVec<kRows, kVecs>(last, [&](int r, int v, int n) ONWARD_LAMBDA_INLINE {
      sums.at[r][v] = LoadLanes(t.c + r * t.c_row + v * kLanes, n);
    });
    return;
  }
  if (t.bias_of_column != nullptr) {
    ForEachVec<kRows, kVecs>(last, [&](int r, int v, int n) ONWARD_LAMBDA_INLINE {
      sums.at[r][v] = r == 0 ? LoadLanes(t.bias_of_column + v * kLanes, n) : sums.at[0][v];
    });
  } else {
    ForEachVec<kRows, kVecs>(
        last, [&](int r, int v, int) ONWARD_LAMBDA_INLINE { sums.at[r][v] = Vec{}; });
  }
  if (t.bias_of_row != nullptr) {
    ForEachVec<kRows, kVecs>(last, [&](int r, int v, int) ONWARD_LAMBDA_INLINE {
      sums.at[r][v] += Set(t.bias_of_row[r]);
    });
  }
  if (t.residual != nullptr) {
    ForEachVec<kRows, kVecs>(last, [&](int r, int v, int n) ONWARD_LAMBDA_INLINE {
      sums.at[r][v] += LoadLanes(t.residual + r * t.residual_row + v * kLanes, n);
    });
  }
}

template <int kRows, int kVecs>
ONWARD_INLINE void StoreSums(const GemmTile& t, int last, const TileSums<kRows, kVecs>& sums) {
  ForEachVec<kRows, kVecs>(last, [&](int r, int v, int n) ONWARD_LAMBDA_INLINE {
    StoreLanes(t.c + r * t.c_row + v * kLanes, sums.at[r][v], n);
  });
}

// The functions of a few operations are applied to the sums; returns false for others.
template <int kRows, int kVecs>
ONWARD_INLINE bool ActivateSums(const ActivationSpec& activation, TileSums<kRows, kVecs>& sums) {
  const auto each = [&](auto f) ONWARD_LAMBDA_INLINE {
    ForEachVec<kRows, kVecs>(
        0, [&](int r, int v, int) ONWARD_LAMBDA_INLINE { sums.at[r][v] = f(sums.at[r][v]); });
  };
  const Vec alpha = Set(activation.alpha), beta = Set(activation.beta);
  switch (activation.kind) {
    case Activation::kNone:
      return true;
    case Activation::kRelu:
      each([](Vec x) ONWARD_LAMBDA_INLINE { return Max(Vec{}, x); });
      return true;
    case Activation::kClip:
      each([&](Vec x) ONWARD_LAMBDA_INLINE { return Min(beta, Max(alpha, x)); });
      return true;
    case Activation::kHardSwish:
      each([](Vec x) ONWARD_LAMBDA_INLINE { return HardSwish(x); });
      return true;
    default:
      return false;
  }
}

// The costlier functions run over the stored tile, which is in the first-level cache.
__attribute__((noinline)) inline void ActivateTile(const GemmTile& t) {
  WithActivation(t.activation, [&](auto f) ONWARD_LAMBDA_INLINE {
    for (int r = 0; r < t.rows; ++r) {
      float* row = t.c + r * t.c_row;
      int c = 0;
      for (; c + kLanes <= t.cols; c += kLanes) Store(row + c, f(Load(row + c)));
      if (c < t.cols) StoreN(row + c, f(LoadN(row + c, t.cols - c)), t.cols - c);
    }
  });
}

inline void Activate(const ActivationSpec& activation, float* values, int64_t count) {
  WithActivation(activation, [&](auto f) ONWARD_LAMBDA_INLINE {
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) Store(values + i, f(Load(values + i)));
    const int left = static_cast<int>(count - i);
    if (left > 0) StoreN(values + i, f(LoadN(values + i, left)), left);
  });
}

template <int kRows, int kVecs, bool kPackedRows>
void Tile(const GemmTile& t) {
  const int last = t.cols - (kVecs - 1) * kLanes;
  TileSums<kRows, kVecs> sums;
  StartSums(t, last, sums);
  if (last == kLanes || t.b_padded) {
    Multiply<kRows, kVecs, kPackedRows, false>(t, last, sums);
  } else {
    Multiply<kRows, kVecs, kPackedRows, true>(t, last, sums);
  }
  const bool activated = ActivateSums(t.activation, sums);
  StoreSums(t, last, sums);
  if (!activated) ActivateTile(t);
}

using TileFunction = void (*)(const GemmTile&);
template <int kVecs, bool kPackedRows, int... R>
constexpr TileFunction TileOfRows(int rows, std::integer_sequence<int, R...>) {
  constexpr TileFunction kFunctions[] = {Tile<R + 1, kVecs, kPackedRows>...};
  return kFunctions[rows - 1];
}

inline void AnyTile(const GemmTile& t) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  const bool packed = t.a_row == 1;
  if (t.cols > kLanes) {
    (packed ? TileOfRows<2, true>(t.rows, Rows()) : TileOfRows<2, false>(t.rows, Rows()))(t);
  } else {
    (packed ? TileOfRows<1, true>(t.rows, Rows()) : TileOfRows<1, false>(t.rows, Rows()))(t);
  }
}

}  // namespace onward::kernels::cpu::ONWARD_TARGET
