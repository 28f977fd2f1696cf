// Expected values by hand; the formats that libraries decode are in the standard's own cases.
#include "tests/cases/cases.h"
#include "tests/cases/values.h"

namespace onward::cases {
namespace {

Tensor Stream(std::string_view bytes) {
  Tensor tensor(DType::kUint8, {static_cast<int64_t>(bytes.size())});
  std::copy(bytes.begin(), bytes.end(), tensor.mutable_data<char>());
  return tensor;
}

// Little-endian numbers of up to eight bytes.
std::string Number(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

// A bitmap with a header of 40 bytes; `palette` is what lies between the header and the pixels.
Tensor Bmp(int width, int height, int bits, uint32_t compression, const std::string& palette,
           const std::string& pixels) {
  const auto at = static_cast<uint32_t>(54 + palette.size());
  const uint32_t colors = bits <= 8 ? static_cast<uint32_t>(palette.size() / 4) : 0;
  return Stream("BM" + Number(at + static_cast<uint32_t>(pixels.size()), 4) + Number(0, 4) +
                Number(at, 4) + Number(40, 4) + Number(static_cast<uint32_t>(width), 4) +
                Number(static_cast<uint32_t>(height), 4) + Number(1, 2) +
                Number(static_cast<uint32_t>(bits), 2) + Number(compression, 4) + Number(0, 4) +
                Number(0, 8) + Number(colors, 4) + Number(0, 4) + palette + pixels);
}

// Blue, green, red, 0: black, red, green, blue.
std::string FourColors() { return std::string("\0\0\0\0\0\0\xff\0\0\xff\0\0\xff\0\0\0", 16); }

OpCase Decoded(std::string name, Tensor stream, Tensor image, std::string format = "RGB") {
  return Row(std::move(name), "ImageDecoder", {{"pixel_format", std::move(format)}},
             {std::move(stream)}, {std::move(image)});
}

std::vector<OpCase> BmpRows() {
  using std::string_literals::operator""s;
  const Tensor colors =
      Of<uint8_t>({2, 2, 3}, {0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255});  // black red; green blue
  return {
      Decoded("bmp_8_bits", Bmp(2, 2, 8, 0, FourColors(), "\2\3\0\0\0\1\0\0"s), colors),
      Decoded("bmp_top_down", Bmp(2, -2, 8, 0, FourColors(), "\0\1\0\0\2\3\0\0"s), colors),
      Decoded("bmp_4_bits", Bmp(2, 2, 4, 0, FourColors(), "\x23\0\0\0\x01\0\0\0"s), colors),
      Decoded("bmp_1_bit", Bmp(3, 1, 1, 0, "\0\0\0\0\xff\xff\xff\0"s, "\xa0\0\0\0"s),
              Of<uint8_t>({1, 3, 3}, {255, 255, 255, 0, 0, 0, 255, 255, 255})),
      Decoded("bmp_runs_of_8_bits", Bmp(2, 2, 8, 1, FourColors(), "\1\2\1\3\0\0\1\0\1\1\0\1"s),
              colors),
      Decoded("bmp_runs_of_4_bits", Bmp(4, 1, 4, 2, FourColors(), "\4\x12\0\1"s),
              Of<uint8_t>({1, 4, 3}, {255, 0, 0, 0, 255, 0, 255, 0, 0, 0, 255, 0})),
      Decoded("bmp_skipped_pixels", Bmp(3, 1, 8, 1, FourColors(), "\0\2\2\0\1\1\0\1"s),
              Of<uint8_t>({1, 3, 3}, {0, 0, 0, 0, 0, 0, 255, 0, 0})),
      Decoded("bmp_16_bits", Bmp(2, 1, 16, 0, "", "\x1f\x7c\xe0\x03"s),
              Of<uint8_t>({1, 2, 3}, {255, 0, 255, 0, 255, 0})),
      Decoded("bmp_bit_fields",
              Bmp(2, 1, 16, 3, "\0\xf8\0\0\xe0\7\0\0\x1f\0\0\0"s, "\x1f\xf8\xe0\7"s),
              Of<uint8_t>({1, 2, 3}, {255, 0, 255, 0, 255, 0})),
      Decoded("bmp_32_bits_bgr", Bmp(1, 1, 32, 0, "", "\1\2\3\4"s),
              Of<uint8_t>({1, 1, 3}, {1, 2, 3}), "BGR"),
      Decoded("bmp_that_ends_early", Bmp(2, 2, 24, 0, "", "\1\2\3"s), Of<uint8_t>({0, 0, 3}, {})),
  };
}

std::vector<OpCase> PnmRows() {
  using std::string_literals::operator""s;
  return {
      Decoded("pbm_text", Stream("P1 # comment\n3 1\n1 0 1\n"), Of<uint8_t>({1, 3, 1}, {0, 255, 0}),
              "Grayscale"),
      Decoded("pbm_text_without_blanks", Stream("P1\n3 1\n101"),
              Of<uint8_t>({1, 3, 1}, {0, 255, 0}), "Grayscale"),
      Decoded("pbm_bits", Stream("P4\n9 1\n\xaa\x80"s),
              Of<uint8_t>({1, 9, 1}, {0, 255, 0, 255, 0, 255, 0, 255, 0}), "Grayscale"),
      Decoded("pgm_text", Stream("P2 2 1 15\n15 3"),
              Of<uint8_t>({1, 2, 3}, {255, 255, 255, 51, 51, 51})),
      Decoded("pgm_16_bits", Stream("P5 2 1 65535\n\xff\xff\x33\x33"s),
              Of<uint8_t>({1, 2, 1}, {255, 51}), "Grayscale"),
      Decoded("ppm_text", Stream("P3 1 2 255 1 2 3\n4 5 6\n"),
              Of<uint8_t>({2, 1, 3}, {1, 2, 3, 4, 5, 6})),
      Decoded("ppm_bgr", Stream("P6 1 1 255\n\1\2\3"s), Of<uint8_t>({1, 1, 3}, {3, 2, 1}), "BGR"),
      // (19595 * 10 + 38470 * 20 + 7471 * 30) / 65536 = 18.15
      Decoded("ppm_gray", Stream("P6 1 1 255\n\x0a\x14\x1e"s), Of<uint8_t>({1, 1, 1}, {18}),
              "Grayscale"),
      Decoded("ppm_that_ends_early", Stream("P6 2 2 255\n\1\2\3"s), Of<uint8_t>({0, 0, 3}, {})),
      Decoded("ppm_too_large", Stream("P6 2147483647 2147483647 255\n\1"s),
              Of<uint8_t>({0, 0, 3}, {})),
  };
}

std::vector<OpCase> DamagedRows() {
  using std::string_literals::operator""s;
  const Tensor none = Of<uint8_t>({0, 0, 3}, {});
  return {
      Decoded("empty_stream", Stream(""), none),
      Decoded("unknown_format", Stream("hello"), Of<uint8_t>({0, 0, 1}, {}), "Grayscale"),
      Decoded("damaged_jpeg", Stream("\xff\xd8\xff\xe0garbage"s), none),
      Decoded("damaged_png", Stream("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s), none),
  };
}

}  // namespace

std::vector<OpCase> ImageDecoderCases() { return Join({BmpRows, PnmRows, DamagedRows}); }

}  // namespace onward::cases
