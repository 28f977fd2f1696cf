#include "files/image/read_image.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

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

}  // namespace
}  // namespace onward
