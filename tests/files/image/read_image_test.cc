#include "onward/read_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/scratch_directory.h"

namespace onward::files {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Jpeg() {
  std::ifstream file(
      std::string(ONWARD_SOURCE_DIR) + "/tests/training/data/images/folders/dog/b.jpg",
      std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ReadImage, JpegOfTwoHeadersIsRefusedAfterItsPixelsWereRead) {
  const testing::ScratchDirectory directory;
  const std::string whole = Jpeg();
  ASSERT_TRUE(ReadImage(directory.Write("whole.jpg", whole), false).ok());
  // The end marker becomes a second start, which libjpeg meets when the last row is read.
  std::string twice = whole;
  ASSERT_EQ(twice.substr(twice.size() - 2), "\xff\xd9");
  twice.replace(twice.size() - 1, 1, "\xd8");
  const auto image = ReadImage(directory.Write("twice.jpg", twice), false);
  ASSERT_FALSE(image.ok());
  EXPECT_NE(image.status().message().find("two SOI markers"), std::string::npos) << image.status();
}

TEST(ReadImage, JpegWithoutHeaderIsRefused) {
  const testing::ScratchDirectory directory;
  const auto image = ReadImage(directory.Write("x.jpg", "\xff\xd8\xff\xd9"), true);
  ASSERT_FALSE(image.ok());
  EXPECT_NE(image.status().message().find("x.jpg"), std::string::npos) << image.status();
}

// 26 x 19 pixels of gray: a header of 33 bytes, one chunk of pixels, an end of 12 bytes.
std::string Png() {
  std::ifstream file(
      std::string(ONWARD_SOURCE_DIR) + "/tests/training/data/images/folders/dog/more/gray.png",
      std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ReadImage, PngThatEndsEarlyIsRefused) {
  const testing::ScratchDirectory directory;
  const std::string whole = Png();
  const auto read = ReadImage(directory.Write("whole.png", whole), false);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->dims(), Dims({19, 26, 3}));
  for (size_t size = 1; size < whole.size(); ++size) {
    const auto image = ReadImage(directory.Write("cut.png", whole.substr(0, size)), size % 2 == 0);
    ASSERT_FALSE(image.ok()) << size;
    EXPECT_THAT(std::string(image.status().message()), HasSubstr("cut.png'")) << size;
    if (size < 16) continue;  // the signature may not be whole
    EXPECT_THAT(std::string(image.status().message()), HasSubstr("ends early")) << size;
  }
}

// Checksums find every byte of the header and of the pixels that is another one.
TEST(ReadImage, DamagedPngIsRefused) {
  const testing::ScratchDirectory directory;
  const std::string whole = Png();
  const size_t end = whole.find("IEND") - 4;
  for (size_t at = 0; at < end; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    const auto image = ReadImage(directory.Write("damaged.png", damaged), false);
    ASSERT_FALSE(image.ok()) << at;
    EXPECT_THAT(std::string(image.status().message()), HasSubstr("damaged.png'")) << at;
  }
}

// 0.299, 0.587 and 0.114 of (10, 200, 30) are 123.81, of (255, 3, 254) 106.96.
TEST(ReadImage, AnyFormatAndGrayByItsContent) {
  const testing::ScratchDirectory directory;
  const std::string path =
      directory.Write("named.png", std::string("P6 2 1 255\n\x0a\xc8\x1e\xff\x03\xfe"));
  const auto color = ReadImage(path, false);
  ASSERT_TRUE(color.ok()) << color.status();
  EXPECT_EQ(color->dims(), Dims({1, 2, 3}));
  EXPECT_THAT(color->span<uint8_t>(), ElementsAre(10, 200, 30, 255, 3, 254));
  const auto gray = ReadImage(path, true);
  ASSERT_TRUE(gray.ok()) << gray.status();
  EXPECT_EQ(gray->dims(), Dims({1, 2, 1}));
  EXPECT_THAT(gray->span<uint8_t>(), ElementsAre(124, 107));
}

TEST(ReadImage, FilesThatAreNotImagesAndMissingOnes) {
  const testing::ScratchDirectory directory;
  const auto text = ReadImage(directory.Write("x.png", "hello"), false);
  EXPECT_NE(text.status().message().find("x.png': the file is not an image"), std::string::npos)
      << text.status();
  EXPECT_TRUE(absl::IsNotFound(ReadImage(directory.path() + "/none.png", false).status()));
}

}  // namespace
}  // namespace onward::files
