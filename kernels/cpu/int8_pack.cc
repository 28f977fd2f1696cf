#include "kernels/cpu/int8_pack.h"

#include <algorithm>
#include <cstring>

namespace onward::kernels::cpu {
namespace {

// Element as the tile reads it.
template <typename Element>
Element Read(uint8_t byte, const ByteSource& source) {
  if constexpr (sizeof(Element) == 1) {
    return static_cast<Element>(source.shifted ? byte ^ 0x80 : byte);
  } else {
    return source.is_signed ? static_cast<Element>(static_cast<int8_t>(byte))
                            : static_cast<Element>(byte);
  }
}

// Its number: shifted signed bytes are read as unsigned ones, and the reverse.
template <typename Element>
int32_t Number(Element element, const ByteSource& source) {
  if constexpr (sizeof(Element) == 1) {
    return source.is_signed != source.shifted ? static_cast<int8_t>(element) : element;
  } else {
    return element;
  }
}

template <typename Element>
void PackRowsOf(const ByteSource& source, int64_t stride, int64_t rows, int64_t k, int64_t padded,
                Element* to, int32_t* sums) {
  for (int64_t r = 0; r < rows; ++r, to += padded) {
    const uint8_t* from = source.data + r * stride;
    int32_t sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      to[i] = Read<Element>(from[i], source);
      sum += Number(to[i], source);
    }
    std::fill(to + k, to + padded, Element(0));
    sums[r] = sum;
  }
}

using Bytes = uint8_t __attribute__((vector_size(16)));
using Pairs = uint16_t __attribute__((vector_size(16)));

// to[4 * c + u] = rows[u * stride + c] ^ flip for 16 columns.
void InterleaveFour(const uint8_t* rows, int64_t stride, uint8_t flip, uint8_t* to) {
  Bytes row[4];
  for (int u = 0; u < 4; ++u) {
    std::memcpy(&row[u], rows + u * stride, sizeof(Bytes));
    row[u] ^= flip;
  }
  const auto low = [](Bytes a, Bytes b) {
    return reinterpret_cast<Pairs>(
        __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
  };
  const auto high = [](Bytes a, Bytes b) {
    return reinterpret_cast<Pairs>(__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                                           28, 13, 29, 14, 30, 15, 31));
  };
  const Pairs ab[2] = {low(row[0], row[1]), high(row[0], row[1])};
  const Pairs cd[2] = {low(row[2], row[3]), high(row[2], row[3])};
  for (int h = 0; h < 2; ++h) {
    const Pairs out[2] = {__builtin_shufflevector(ab[h], cd[h], 0, 8, 1, 9, 2, 10, 3, 11),
                          __builtin_shufflevector(ab[h], cd[h], 4, 12, 5, 13, 6, 14, 7, 15)};
    std::memcpy(to + h * 32, out, sizeof(out));
  }
}

// PackPanelOf bytes in fours, without sums, for panels of a multiple of 16 columns.
void PackFours(const ByteSource& source, int64_t stride, int64_t cols, int64_t k, int64_t tile_cols,
               uint8_t* to) {
  constexpr int64_t kMostColumns = 64;
  const uint8_t flip = source.shifted ? 0x80 : 0;
  uint8_t edge[4 * kMostColumns];
  std::memset(edge, flip, sizeof(edge));
  for (int64_t k0 = 0; k0 < k; k0 += 4, to += tile_cols * 4) {
    const uint8_t* from = source.data + k0 * stride;
    int64_t step = stride;
    if (cols < tile_cols || k - k0 < 4) {
      if (k - k0 < 4) std::memset(edge, flip, sizeof(edge));
      for (int64_t u = 0; u < std::min<int64_t>(4, k - k0); ++u)
        std::memcpy(edge + u * kMostColumns, from + u * stride, static_cast<size_t>(cols));
      from = edge, step = kMostColumns;
    }
    for (int64_t c = 0; c < tile_cols; c += 16) InterleaveFour(from + c, step, flip, to + c * 4);
  }
}

template <typename Element, int kUnit>
void PackPanelOf(const ByteSource& source, int64_t stride, int64_t cols, int64_t k,
                 int64_t tile_cols, Element* to, int32_t* sums) {
  if (sums != nullptr) std::fill(sums, sums + tile_cols, 0);
  for (int64_t k0 = 0; k0 < k; k0 += kUnit, to += tile_cols * kUnit) {
    const int64_t depth = std::min<int64_t>(kUnit, k - k0);
    const uint8_t* from = source.data + k0 * stride;
    if (depth == kUnit && cols == tile_cols) {
      for (int64_t c = 0; c < tile_cols; ++c) {
        for (int u = 0; u < kUnit; ++u)
          to[c * kUnit + u] = Read<Element>(from[u * stride + c], source);
      }
    } else {
      std::fill(to, to + tile_cols * kUnit, Element(0));
      for (int64_t u = 0; u < depth; ++u) {
        for (int64_t c = 0; c < cols; ++c)
          to[c * kUnit + u] = Read<Element>(from[u * stride + c], source);
      }
    }
    if (sums == nullptr) continue;
    for (int64_t c = 0; c < tile_cols; ++c) {
      int32_t sum = 0;
      for (int u = 0; u < kUnit; ++u) sum += Number(to[c * kUnit + u], source);
      sums[c] += sum;
    }
  }
}

}  // namespace

void PackByteRows(const Int8TileKernels& tiles, const ByteSource& source, int64_t stride,
                  int64_t rows, int64_t k, void* to, int32_t* sums) {
  const int64_t padded = UnitsOf(tiles, k) * tiles.unit;
  if (tiles.element_bytes == 1) {
    PackRowsOf(source, stride, rows, k, padded, static_cast<uint8_t*>(to), sums);
  } else {
    PackRowsOf(source, stride, rows, k, padded, static_cast<int16_t*>(to), sums);
  }
}

void PackBytePanel(const Int8TileKernels& tiles, const ByteSource& source, int64_t stride,
                   int64_t cols, int64_t k, void* to, int32_t* sums) {
  if (tiles.element_bytes == 1 && sums == nullptr && tiles.tile_cols % 16 == 0 &&
      tiles.tile_cols <= 64) {
    PackFours(source, stride, cols, k, tiles.tile_cols, static_cast<uint8_t*>(to));
  } else if (tiles.element_bytes == 1) {
    PackPanelOf<uint8_t, 4>(source, stride, cols, k, tiles.tile_cols, static_cast<uint8_t*>(to),
                            sums);
  } else {
    PackPanelOf<int16_t, 2>(source, stride, cols, k, tiles.tile_cols, static_cast<int16_t*>(to),
                            sums);
  }
}

}  // namespace onward::kernels::cpu
