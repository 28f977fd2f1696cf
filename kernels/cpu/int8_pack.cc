#include "kernels/cpu/int8_pack.h"

#include <algorithm>

namespace onward::kernels::cpu {
namespace {

// Element as the tile reads it.
template <typename Element>
Element Read(uint8_t byte, const ByteSource& source) {
  if constexpr (sizeof(Element) == 1) {
    return static_cast<Element>(source.shifted ? byte ^ 0x80 : byte);
  } else {
    return ByteNumber(byte, source.is_signed);
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

template <typename Element, int kUnit>
void PackPanelOf(const ByteSource& source, int64_t stride, int64_t cols, int64_t k,
                 int64_t tile_cols, Element* to, int32_t* sums) {
  std::fill(sums, sums + tile_cols, 0);
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
  if (tiles.element_bytes == 1) {
    PackPanelOf<uint8_t, 4>(source, stride, cols, k, tiles.tile_cols, static_cast<uint8_t*>(to),
                            sums);
  } else {
    PackPanelOf<int16_t, 2>(source, stride, cols, k, tiles.tile_cols, static_cast<int16_t*>(to),
                            sums);
  }
}

}  // namespace onward::kernels::cpu
