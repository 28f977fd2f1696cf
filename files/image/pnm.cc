// Portable bitmaps, graymaps and pixmaps (P1 to P6), after the netpbm manual.
#include <algorithm>
#include <cmath>

#include "files/image/codec.h"

namespace onward::image {
namespace {

absl::Status Damaged() { return absl::InvalidArgumentError("the PNM file is damaged"); }

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool Byte(int* value) {
    if (at_ >= bytes_.size()) return false;
    *value = static_cast<uint8_t>(bytes_[at_++]);
    return true;
  }
  // The next number of the header or of a text file, after blanks and comments.
  bool Number(int64_t* value, size_t max_digits = 10) {
    SkipBlanks();
    *value = 0;
    size_t digits = 0;
    for (; at_ < bytes_.size() && digits < max_digits && bytes_[at_] >= '0' && bytes_[at_] <= '9';
         ++at_, ++digits)
      *value = *value * 10 + (bytes_[at_] - '0');
    return digits > 0;
  }
  size_t left() const { return bytes_.size() - at_; }

 private:
  void SkipBlanks() {
    for (; at_ < bytes_.size(); ++at_) {
      const char c = bytes_[at_];
      if (c == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n' && bytes_[at_] != '\r') ++at_;
      } else if (c != ' ' && (c < '\t' || c > '\r')) {
        return;
      }
      if (at_ >= bytes_.size()) return;
    }
  }
  std::string_view bytes_;
  size_t at_ = 2;
};

struct Header {
  bool text = false;
  int64_t channels = 1;  // 0: bits
  int64_t width = 0, height = 0, max = 1;
};

bool ReadHeader(std::string_view bytes, Reader& reader, Header& header) {
  const int kind = bytes[1] - '0';
  header.text = kind <= 3;
  header.channels = kind % 3 == 1 ? 0 : kind % 3 == 2 ? 1 : 3;
  if (!reader.Number(&header.width) || !reader.Number(&header.height)) return false;
  if (header.channels > 0 && !reader.Number(&header.max)) return false;
  int blank;
  return header.max > 0 && header.max < 65536 && (header.text || reader.Byte(&blank));
}

// One sample as 8 bits. Bitmaps: 1 is black.
bool ReadSample(Reader& reader, const Header& header, uint8_t* sample) {
  int64_t value = 0;
  if (header.text) {
    if (!reader.Number(&value, header.channels == 0 ? 1 : 10)) return false;
  } else {
    int high = 0, low = 0;
    if (header.max > 255 && !reader.Byte(&high)) return false;
    if (!reader.Byte(&low)) return false;
    value = high * 256 + low;
  }
  value = std::min(value, header.max);
  if (header.channels == 0) value = 1 - value;
  *sample = static_cast<uint8_t>(
      std::nearbyint(static_cast<double>(value) / static_cast<double>(header.max) * 255.0));
  return true;
}

bool ReadBits(Reader& reader, const Header& header, uint8_t* rgb) {
  for (int64_t row = 0; row < header.height; ++row) {
    int byte = 0;
    for (int64_t column = 0; column < header.width; ++column, rgb += 3) {
      if (column % 8 == 0 && !reader.Byte(&byte)) return false;
      const bool black = (byte >> (7 - column % 8) & 1) != 0;
      std::fill(rgb, rgb + 3, black ? 0 : 255);
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<Pixels> DecodePnm(std::string_view bytes) {
  Reader reader(bytes);
  Header header;
  if (bytes.size() < 3 || !ReadHeader(bytes, reader, header)) return Damaged();
  // No variant has less than a bit for a pixel.
  if (header.height > 0 && header.width > static_cast<int64_t>(8 * reader.left()) / header.height)
    return Damaged();
  auto pixels = MakePixels(header.height, header.width);
  if (!pixels.ok()) return pixels;
  uint8_t* rgb = pixels->rgb.data();
  if (!header.text && header.channels == 0) {
    if (!ReadBits(reader, header, rgb)) return Damaged();
    return pixels;
  }
  for (int64_t i = 0; i < header.height * header.width; ++i, rgb += 3) {
    if (!ReadSample(reader, header, rgb)) return Damaged();
    for (int channel = 1; channel < 3; ++channel) {
      rgb[channel] = rgb[0];
      if (header.channels == 3 && !ReadSample(reader, header, rgb + channel)) return Damaged();
    }
  }
  return pixels;
}

}  // namespace onward::image
