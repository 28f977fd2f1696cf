#include "tests/amx/tile_model.h"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace onward::tile_model {
namespace {

constexpr int kTiles = 8, kRows = 16, kRowBytes = 64;
constexpr int kReservedBegin = 2, kRowBytesAt = 16, kRowsAt = 48;  // in the configuration

struct Tile {
  int rows = 0, row_bytes = 0;
  uint8_t bytes[kRows][kRowBytes] = {};
};

struct Registers {
  bool configured = false;
  Tile tiles[kTiles];
};

thread_local Registers registers;
std::atomic<int64_t> products{0};

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "AMX would fault: %s\n", what);
  std::abort();
}

Tile& Configured(int tile) {
  Require(registers.configured, "no configuration is loaded");
  Require(tile >= 0 && tile < kTiles, "there is no such register");
  Require(registers.tiles[tile].rows > 0, "the register has no size");
  return registers.tiles[tile];
}

template <typename T>
T Read(const Tile& tile, int row, int i) {
  T value;
  std::memcpy(&value, tile.bytes[row] + i * static_cast<int>(sizeof(T)), sizeof(T));
  return value;
}
template <typename T>
void Write(Tile& tile, int row, int i, T value) {
  std::memcpy(tile.bytes[row] + i * static_cast<int>(sizeof(T)), &value, sizeof(T));
}

// Denormal numbers are read and written as zero.
float Flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

float Bf16(const Tile& tile, int row, int i) {
  const uint32_t bits = uint32_t{Read<uint16_t>(tile, row, i)} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return Flushed(value);
}

// A is rows x depth, B depth x columns, of words of 4 bytes.
struct Product {
  Tile& sums;
  const Tile& a;
  const Tile& b;
  int columns, depth;
};

Product ProductOf(int sums, int a, int b) {
  Require(sums != a && sums != b && a != b, "a register is named twice");
  const Product product = {Configured(sums), Configured(a), Configured(b),
                           Configured(sums).row_bytes / 4, Configured(a).row_bytes / 4};
  Require(product.a.row_bytes % 4 == 0 && product.b.row_bytes % 4 == 0 &&
              product.sums.row_bytes % 4 == 0,
          "a row is not of whole words");
  Require(product.sums.rows == product.a.rows, "sums and A differ in rows");
  Require(product.sums.row_bytes == product.b.row_bytes, "sums and B differ in columns");
  Require(product.depth == product.b.rows, "A's columns are not B's rows");
  ++products;
  return product;
}

}  // namespace

int64_t Products() { return products; }

void Configure(const void* config) {
  uint8_t bytes[64];
  std::memcpy(bytes, config, sizeof(bytes));
  Require(reinterpret_cast<uintptr_t>(config) % 64 == 0, "the configuration is not aligned");
  Require(bytes[0] == 1 && bytes[1] == 0, "palette or first row");
  for (int i = kReservedBegin; i < kRowBytesAt; ++i) Require(bytes[i] == 0, "a reserved byte");
  registers = {};
  registers.configured = true;
  for (int t = 0; t < 16; ++t) {
    const int low = bytes[kRowBytesAt + 2 * t], high = bytes[kRowBytesAt + 2 * t + 1];
    const int row_bytes = low + 256 * high, rows = bytes[kRowsAt + t];
    Require(t < kTiles || (row_bytes == 0 && rows == 0), "a size of a register that is not there");
    if (t >= kTiles) continue;
    Require(row_bytes <= kRowBytes && rows <= kRows, "a register's size");
    Require((row_bytes == 0) == (rows == 0), "rows without bytes, or bytes without rows");
    registers.tiles[t].rows = rows;
    registers.tiles[t].row_bytes = row_bytes;
  }
}

void Release() { registers = {}; }

void Zero(int tile) { std::memset(Configured(tile).bytes, 0, sizeof(Tile::bytes)); }

void Load(int tile, const void* from, int64_t stride) {
  Tile& to = Configured(tile);
  Zero(tile);
  for (int r = 0; r < to.rows; ++r)
    std::memcpy(to.bytes[r], static_cast<const char*>(from) + r * stride,
                static_cast<size_t>(to.row_bytes));
}

void Store(int tile, void* to, int64_t stride) {
  const Tile& from = Configured(tile);
  for (int r = 0; r < from.rows; ++r)
    std::memcpy(static_cast<char*>(to) + r * stride, from.bytes[r],
                static_cast<size_t>(from.row_bytes));
}

void AddBf16(int sums, int a, int b) {
  const Product p = ProductOf(sums, a, b);
  for (int m = 0; m < p.sums.rows; ++m) {
    for (int n = 0; n < p.columns; ++n) {
      float even = 0, odd = 0;
      for (int k = 0; k < p.depth; ++k) {
        even = Flushed(std::fma(Bf16(p.a, m, 2 * k), Bf16(p.b, k, 2 * n), even));
        odd = Flushed(std::fma(Bf16(p.a, m, 2 * k + 1), Bf16(p.b, k, 2 * n + 1), odd));
      }
      const float before = Flushed(Read<float>(p.sums, m, n));
      Write(p.sums, m, n, Flushed(before + Flushed(even + odd)));
    }
  }
}

void AddBytes(int sums, int a, int b) {
  const Product p = ProductOf(sums, a, b);
  for (int m = 0; m < p.sums.rows; ++m) {
    for (int n = 0; n < p.columns; ++n) {
      uint32_t sum = Read<uint32_t>(p.sums, m, n);
      for (int k = 0; k < 4 * p.depth; ++k) {
        const int x = Read<uint8_t>(p.a, m, k), y = Read<int8_t>(p.b, k / 4, 4 * n + k % 4);
        sum += static_cast<uint32_t>(x * y);
      }
      Write(p.sums, m, n, sum);
    }
  }
}

}  // namespace onward::tile_model
