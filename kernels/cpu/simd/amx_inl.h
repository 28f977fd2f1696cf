// The tile registers of AMX: eight matrices of at most 16 rows of 64 bytes (Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 1, chapter 18). Four of them hold the sums of a
// tile of 32 x 32 results, two the rows of A, two the columns of B.
//
// The instructions are written out: GCC 12's intrinsics do not say which memory they read.
#pragma once

#include "kernels/cpu/simd/vec_inl.h"

// tests/amx defines them for processors without AMX.
#if !defined(ONWARD_TILE_CONFIGURE)
#define ONWARD_TILE_CONFIGURE(config) asm volatile("ldtilecfg %0" ::"m"(config))
#define ONWARD_TILE_RELEASE() asm volatile("tilerelease" ::)
#define ONWARD_TILE_ZERO(t) asm volatile("tilezero %%tmm" #t ::)
#define ONWARD_TILE_LOAD(t, from, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(from), "r"(stride) : "memory")
#define ONWARD_TILE_STORE(t, to, stride) \
  asm volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"(stride) : "memory")
#define ONWARD_TILE_ADD_BF16(sums, a, b) \
  asm volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #sums ::)
#define ONWARD_TILE_ADD_BYTES(sums, a, b) \
  asm volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #sums ::)
#endif

namespace onward::kernels::cpu::ONWARD_TARGET::amx_tiles {

inline constexpr int kHalf = 16;            // rows or columns of one register
inline constexpr int kWords = 16;           // of K, 4 bytes each, in one register
inline constexpr int kMost = 2 * kHalf;     // rows and columns of a tile of results
inline constexpr int64_t kRow = 4 * kMost;  // bytes of a row of sums, or of a packed panel of B

// The operand of LDTILECFG.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

// Rows and columns of both halves of a tile; those of the second may be 0.
struct TileShape {
  int rows[2];
  int cols[2];

  TileShape(int all_rows, int all_cols)
      : rows{all_rows < kHalf ? all_rows : kHalf, all_rows < kHalf ? 0 : all_rows - kHalf},
        cols{all_cols < kHalf ? all_cols : kHalf, all_cols < kHalf ? 0 : all_cols - kHalf} {}
};

// Sizes the registers for steps of `words` of K, and zeroes them: 0 to 3 are sums, by halves of
// rows and columns, 4 and 5 rows of A, 6 and 7 columns of B.
inline void Configure(const TileShape& shape, int words) {
  TileConfig config;
  const auto set = [&](int t, int rows, int row_words) ONWARD_LAMBDA_INLINE {
    if (rows == 0 || row_words == 0) return;
    config.rows[t] = static_cast<uint8_t>(rows);
    config.row_bytes[t] = static_cast<uint16_t>(4 * row_words);
  };
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) set(2 * i + j, shape.rows[i], shape.cols[j]);
    set(4 + i, shape.rows[i], words);
    set(6 + i, shape.cols[i] == 0 ? 0 : words, shape.cols[i]);
  }
  ONWARD_TILE_CONFIGURE(config);
}

// Registers that a thread keeps sized from tile to tile: sizing them costs as much as three steps
// of a tile.
struct KeptRegisters {
  bool keeps = false;
  uint64_t sizes = 0;  // 0: they are not
};
inline constinit thread_local KeptRegisters kept_registers;

inline void KeepRegisters(bool keeps) {
  if (!keeps && kept_registers.sizes != 0) ONWARD_TILE_RELEASE();
  kept_registers = {keeps, 0};
}

// As Configure, where they are not so already.
inline void ConfigureOnce(const TileShape& shape, int words) {
  const uint64_t sizes =
      static_cast<uint64_t>(shape.rows[0]) | static_cast<uint64_t>(shape.rows[1]) << 8 |
      static_cast<uint64_t>(shape.cols[0]) << 16 | static_cast<uint64_t>(shape.cols[1]) << 24 |
      static_cast<uint64_t>(words) << 32;
  if (kept_registers.sizes != sizes) {
    Configure(shape, words);
    if (kept_registers.keeps) kept_registers.sizes = sizes;
    return;
  }
  ONWARD_TILE_ZERO(0);
  if (shape.cols[1] > 0) ONWARD_TILE_ZERO(1);
  if (shape.rows[1] > 0) ONWARD_TILE_ZERO(2);
  if (shape.rows[1] > 0 && shape.cols[1] > 0) ONWARD_TILE_ZERO(3);
}

// Where a step of K lies: rows of A of each half, `stride` bytes apart, and rows of B.
struct TileStep {
  const char* a[2];
  int64_t a_stride[2];
  const char* b;
  int64_t b_stride;
};

// Sums += A B, of pairs of bfloat16, or of unsigned by signed bytes.
template <bool kBytes, bool kRows2, bool kCols2>
ONWARD_INLINE void AddStep(const TileStep& step) {
  ONWARD_TILE_LOAD(4, step.a[0], step.a_stride[0]);
  ONWARD_TILE_LOAD(6, step.b, step.b_stride);
  if constexpr (kCols2) ONWARD_TILE_LOAD(7, step.b + 4 * kHalf, step.b_stride);
  if constexpr (kRows2) ONWARD_TILE_LOAD(5, step.a[1], step.a_stride[1]);
  if constexpr (kBytes) {
    ONWARD_TILE_ADD_BYTES(0, 4, 6);
    if constexpr (kCols2) ONWARD_TILE_ADD_BYTES(1, 4, 7);
    if constexpr (kRows2) ONWARD_TILE_ADD_BYTES(2, 5, 6);
    if constexpr (kRows2 && kCols2) ONWARD_TILE_ADD_BYTES(3, 5, 7);
  } else {
    ONWARD_TILE_ADD_BF16(0, 4, 6);
    if constexpr (kCols2) ONWARD_TILE_ADD_BF16(1, 4, 7);
    if constexpr (kRows2) ONWARD_TILE_ADD_BF16(2, 5, 6);
    if constexpr (kRows2 && kCols2) ONWARD_TILE_ADD_BF16(3, 5, 7);
  }
}

// `sums`: [kMost][kMost] words.
template <bool kRows2, bool kCols2>
ONWARD_INLINE void LoadSums(const char* sums) {
  ONWARD_TILE_LOAD(0, sums, kRow);
  if constexpr (kCols2) ONWARD_TILE_LOAD(1, sums + 4 * kHalf, kRow);
  if constexpr (kRows2) ONWARD_TILE_LOAD(2, sums + kHalf * kRow, kRow);
  if constexpr (kRows2 && kCols2) ONWARD_TILE_LOAD(3, sums + kHalf * kRow + 4 * kHalf, kRow);
}

template <bool kRows2, bool kCols2>
ONWARD_INLINE void StoreSums(char* sums) {
  ONWARD_TILE_STORE(0, sums, kRow);
  if constexpr (kCols2) ONWARD_TILE_STORE(1, sums + 4 * kHalf, kRow);
  if constexpr (kRows2) ONWARD_TILE_STORE(2, sums + kHalf * kRow, kRow);
  if constexpr (kRows2 && kCols2) ONWARD_TILE_STORE(3, sums + kHalf * kRow + 4 * kHalf, kRow);
}

// Writes to `sums` those over `runs` runs of `words` words of K: step(run, first word, words) says
// where a step lies. Whole steps first, then what is left of each run, so that the registers are
// sized twice.
template <bool kBytes, bool kRows2, bool kCols2, typename Step>
ONWARD_INLINE void SumRuns(const TileShape& shape, int64_t runs, int64_t words, char* sums,
                           Step&& step) {
  const int64_t whole = words / kWords * kWords;
  const int rest = static_cast<int>(words - whole);
  if (whole > 0) {
    ConfigureOnce(shape, kWords);
    for (int64_t run = 0; run < runs; ++run) {
      for (int64_t i = 0; i < whole; i += kWords)
        AddStep<kBytes, kRows2, kCols2>(step(run, i, kWords));
    }
    StoreSums<kRows2, kCols2>(sums);
  }
  if (rest > 0 || whole == 0) {
    ConfigureOnce(shape, rest > 0 ? rest : 1);
    if (whole > 0) LoadSums<kRows2, kCols2>(sums);
    for (int64_t run = 0; rest > 0 && run < runs; ++run)
      AddStep<kBytes, kRows2, kCols2>(step(run, whole, rest));
    StoreSums<kRows2, kCols2>(sums);
  }
  if (!kept_registers.keeps) ONWARD_TILE_RELEASE();
}

// Calls f<kRows2, kCols2>() by what the halves of a tile hold.
template <typename F>
ONWARD_INLINE void ByHalves(const TileShape& shape, F&& f) {
  if (shape.rows[1] > 0) {
    if (shape.cols[1] > 0) return f.template operator()<true, true>();
    return f.template operator()<true, false>();
  }
  if (shape.cols[1] > 0) return f.template operator()<false, true>();
  f.template operator()<false, false>();
}

inline constexpr int kPeakSums = 4;

// Products on registers alone, kPeakSums a round.
template <bool kBytes>
void PeakRounds(int64_t rounds, float* sink) {
  Configure(TileShape(kMost, kMost), kWords);
  for (int64_t i = 0; i < rounds; ++i) {
    if constexpr (kBytes) {
      ONWARD_TILE_ADD_BYTES(0, 4, 6);
      ONWARD_TILE_ADD_BYTES(1, 4, 7);
      ONWARD_TILE_ADD_BYTES(2, 5, 6);
      ONWARD_TILE_ADD_BYTES(3, 5, 7);
    } else {
      ONWARD_TILE_ADD_BF16(0, 4, 6);
      ONWARD_TILE_ADD_BF16(1, 4, 7);
      ONWARD_TILE_ADD_BF16(2, 5, 6);
      ONWARD_TILE_ADD_BF16(3, 5, 7);
    }
  }
  alignas(64) float sums[kMost * kMost];
  StoreSums<true, true>(reinterpret_cast<char*>(sums));
  ONWARD_TILE_RELEASE();
  *sink += sums[0];
}
inline constexpr int kPeakWords = kPeakSums * kHalf * kHalf * kWords;

}  // namespace onward::kernels::cpu::ONWARD_TARGET::amx_tiles
