// Windows bitmaps: 1 to 32 bits per pixel, palettes, bit fields and run-length encoding.
#include <algorithm>
#include <array>
#include <bit>

#include "absl/strings/str_cat.h"
#include "files/image/codec.h"

namespace onward::image {
namespace {

absl::Status Damaged() { return absl::InvalidArgumentError("the BMP file is damaged"); }

enum Compression : uint32_t { kPlain = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3, kAlphaFields = 6 };

struct Bitmap {
  std::string_view bytes;
  int64_t width = 0, height = 0;
  bool bottom_up = true;
  int bits = 0;
  uint32_t compression = kPlain;
  std::array<uint32_t, 3> masks{};                // red, green, blue
  std::vector<std::array<uint8_t, 3>> palette{};  // red, green, blue
  size_t pixels_at = 0;

  // Little-endian number at `at`, 0 beyond the end.
  uint32_t Number(size_t at, size_t count) const {
    uint32_t value = 0;
    for (size_t i = 0; i < count && at + i < bytes.size(); ++i)
      value |= uint32_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
    return value;
  }
};

void ReadPalette(Bitmap& bitmap, size_t at, size_t entry_bytes, size_t count) {
  for (size_t i = 0; i < count && at + 3 <= bitmap.bytes.size(); ++i, at += entry_bytes) {
    const uint32_t entry = bitmap.Number(at, 3);
    bitmap.palette.push_back({static_cast<uint8_t>(entry >> 16), static_cast<uint8_t>(entry >> 8),
                              static_cast<uint8_t>(entry)});
  }
}

bool ReadHeader(Bitmap& bitmap) {
  if (bitmap.bytes.size() < 26) return false;
  bitmap.pixels_at = bitmap.Number(10, 4);
  const size_t header = bitmap.Number(14, 4);
  const bool old = header == 12;  // OS/2
  if (!old && (header < 40 || header > 124)) return false;
  if (old) {
    bitmap.width = bitmap.Number(18, 2);
    bitmap.height = bitmap.Number(20, 2);
    bitmap.bits = static_cast<int>(bitmap.Number(24, 2));
  } else {
    const auto height = static_cast<int32_t>(bitmap.Number(22, 4));
    bitmap.width = static_cast<int32_t>(bitmap.Number(18, 4));
    bitmap.bottom_up = height >= 0;
    bitmap.height = std::abs(int64_t{height});
    bitmap.bits = static_cast<int>(bitmap.Number(28, 2));
    bitmap.compression = bitmap.Number(30, 4);
  }
  const bool fields = bitmap.compression == kBitFields || bitmap.compression == kAlphaFields;
  if (fields) {
    for (size_t i = 0; i < 3; ++i) bitmap.masks[i] = bitmap.Number(54 + 4 * i, 4);
  } else if (bitmap.bits == 16) {
    bitmap.masks = {0x7c00, 0x3e0, 0x1f};
  } else {
    bitmap.masks = {0xff0000, 0xff00, 0xff};
  }
  if (bitmap.bits <= 8) {
    const uint32_t stated = old ? 0 : bitmap.Number(46, 4);
    const size_t most = size_t{1} << bitmap.bits;
    ReadPalette(bitmap, 14 + header + (fields && header == 40 ? 12 : 0), old ? 3 : 4,
                stated == 0 ? most : std::min<size_t>(most, stated));
  }
  const bool known_bits = bitmap.bits == 1 || bitmap.bits == 4 || bitmap.bits == 8 ||
                          bitmap.bits == 16 || bitmap.bits == 24 || bitmap.bits == 32;
  const bool known_packing = bitmap.compression == kPlain ||
                             (fields && bitmap.bits >= 16 && bitmap.bits != 24) ||
                             (bitmap.compression == kRle8 && bitmap.bits == 8) ||
                             (bitmap.compression == kRle4 && bitmap.bits == 4);
  return known_bits && known_packing;
}

// The bits under `mask` scaled to 8.
uint8_t Field(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const int shift = std::countr_zero(mask);
  const uint64_t most = mask >> shift;
  return static_cast<uint8_t>(uint64_t{(pixel & mask) >> shift} * 255 / most);
}

class Writer {
 public:
  Writer(const Bitmap& bitmap, Pixels& pixels) : bitmap_(bitmap), pixels_(pixels) {}
  uint8_t* At(int64_t row, int64_t column) {
    if (bitmap_.bottom_up) row = pixels_.height - 1 - row;
    return pixels_.rgb.data() + 3 * (row * pixels_.width + column);
  }
  void SetIndex(int64_t row, int64_t column, size_t index) {
    if (row >= pixels_.height || column >= pixels_.width || index >= bitmap_.palette.size()) return;
    std::copy(bitmap_.palette[index].begin(), bitmap_.palette[index].end(), At(row, column));
  }

 private:
  const Bitmap& bitmap_;
  Pixels& pixels_;
};

bool ReadPlain(const Bitmap& bitmap, Pixels& pixels) {
  Writer writer(bitmap, pixels);
  const size_t stride =
      (static_cast<size_t>(bitmap.width) * static_cast<size_t>(bitmap.bits) + 31) / 32 * 4;
  for (int64_t row = 0; row < bitmap.height; ++row) {
    const size_t begin = bitmap.pixels_at + static_cast<size_t>(row) * stride;
    for (int64_t column = 0; column < bitmap.width; ++column) {
      const size_t bit = static_cast<size_t>(column) * static_cast<size_t>(bitmap.bits);
      const size_t at = begin + bit / 8;
      const size_t count = std::max<size_t>(1, static_cast<size_t>(bitmap.bits) / 8);
      if (at + count > bitmap.bytes.size()) return false;
      const uint32_t value = bitmap.Number(at, count);
      if (bitmap.bits <= 8) {
        const int shift = 8 - bitmap.bits - static_cast<int>(bit % 8);
        writer.SetIndex(row, column, value >> shift & ((1u << bitmap.bits) - 1));
      } else {
        uint8_t* rgb = writer.At(row, column);
        for (size_t i = 0; i < 3; ++i) rgb[i] = Field(value, bitmap.masks[i]);
      }
    }
  }
  return true;
}

bool ReadRuns(const Bitmap& bitmap, Pixels& pixels) {
  Writer writer(bitmap, pixels);
  const bool nibbles = bitmap.bits == 4;
  int64_t row = 0, column = 0;
  for (size_t at = bitmap.pixels_at; at + 2 <= bitmap.bytes.size();) {
    const uint32_t count = bitmap.Number(at, 1), value = bitmap.Number(at + 1, 1);
    at += 2;
    if (count > 0) {
      for (uint32_t i = 0; i < count; ++i)
        writer.SetIndex(row, column++, !nibbles ? value : i % 2 == 0 ? value >> 4 : value & 15);
    } else if (value == 0) {
      ++row;
      column = 0;
    } else if (value == 1) {
      return true;
    } else if (value == 2) {
      column += bitmap.Number(at, 1);
      row += bitmap.Number(at + 1, 1);
      at += 2;
    } else {
      const size_t bytes = nibbles ? (value + 1) / 2 : value;
      if (at + bytes > bitmap.bytes.size()) return false;
      for (uint32_t i = 0; i < value; ++i) {
        const uint32_t byte = bitmap.Number(at + (nibbles ? i / 2 : i), 1);
        writer.SetIndex(row, column++, !nibbles ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
      }
      at += (bytes + 1) / 2 * 2;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Pixels> DecodeBmp(std::string_view bytes) {
  Bitmap bitmap;
  bitmap.bytes = bytes;
  if (!ReadHeader(bitmap)) return Damaged();
  const bool runs = bitmap.compression == kRle8 || bitmap.compression == kRle4;
  // Checked before memory is taken: plain pixels are all in the file, a run is 255 in two bytes.
  const auto present = static_cast<int64_t>(bytes.size());
  if (bitmap.height > 0 &&
      bitmap.width > (runs ? 128 * present + (1 << 20) : 8 * present) / bitmap.height)
    return Damaged();
  auto pixels = MakePixels(bitmap.height, bitmap.width);
  if (!pixels.ok()) return pixels;
  if (!(runs ? ReadRuns(bitmap, *pixels) : ReadPlain(bitmap, *pixels))) return Damaged();
  return pixels;
}

}  // namespace onward::image
