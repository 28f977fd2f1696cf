// Damaged files end in a status, whatever the library behind the decoder makes of them.
#include "files/image/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace onward::image {
namespace {

using ::testing::ElementsAre;

std::string Number(uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

// One gray row of two pixels: 10 and 200.
std::string Tiff(uint32_t strip_at) {
  std::string text = "II*" + Number(0, 1) + Number(8, 4) + Number(8, 2);
  const auto entry = [&](uint32_t tag, uint32_t value) {
    text += Number(tag, 2) + Number(4, 2) + Number(1, 4) + Number(value, 4);
  };
  entry(256, 2);         // width
  entry(257, 1);         // height
  entry(258, 8);         // bits
  entry(259, 1);         // not compressed
  entry(262, 1);         // 0 is black
  entry(273, strip_at);  // where the strip is
  entry(278, 1);         // rows in a strip
  entry(279, 2);         // its bytes
  return text + Number(0, 4) + "\x0a\xc8";
}

TEST(ImageCodec, Tiff) {
  const auto pixels = DecodeImage(Tiff(110));
  if (absl::IsUnimplemented(pixels.status())) GTEST_SKIP() << pixels.status();
  ASSERT_TRUE(pixels.ok()) << pixels.status();
  EXPECT_EQ(pixels->height, 1);
  EXPECT_EQ(pixels->width, 2);
  EXPECT_THAT(pixels->rgb, ElementsAre(10, 10, 10, 200, 200, 200));
}

TEST(ImageCodec, StripBeyondTheEndOfATiff) { EXPECT_FALSE(DecodeImage(Tiff(1 << 20)).ok()); }

TEST(ImageCodec, EveryDamagedByteAndEveryEnd) {
  using std::string_literals::operator""s;
  const std::string files[] = {
      Tiff(110), "P6 2 1 255\n\1\2\3\4\5\6"s,
      "BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\1\0\0\0\1\0\x18\0\0\0\0\0"s +
          std::string(20, '\0') + "\1\2\3\4\5\6\0\0"s};
  for (const std::string& file : files) {
    ASSERT_TRUE(DecodeImage(file).ok() || absl::IsUnimplemented(DecodeImage(file).status()))
        << DecodeImage(file).status();
    for (size_t i = 0; i < file.size(); ++i) {
      DecodeImage(file.substr(0, i)).status().IgnoreError();
      for (const char value : {'\0', '\x7f', '\xff'}) {
        std::string damaged = file;
        damaged[i] = value;
        DecodeImage(damaged).status().IgnoreError();
      }
    }
  }
}

}  // namespace
}  // namespace onward::image
