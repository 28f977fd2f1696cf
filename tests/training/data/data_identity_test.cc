// Data that changed without a change of their size are other data.
#include "training/data/data_identity.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "tests/support/scratch_directory.h"

namespace onward::training {
namespace {

namespace fs = std::filesystem;

void Flip(const std::string& path, int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 1));
}

// Beyond the size of which older versions read samples alone.
TEST(DataIdentityTest, EachByteOfALargeFileCounts) {
  const testing::ScratchDirectory scratch;
  constexpr int64_t kSize = (20 << 20) + 17;
  const std::string path = scratch.path("data");
  std::ofstream(path, std::ios::binary) << std::string(kSize, 'a');
  const std::string before = ContentsOf(path);
  std::mt19937 random(7);
  for (int i = 0; i < 5; ++i) {
    const int64_t at = i == 0 ? kSize - 1 : static_cast<int64_t>(random() % kSize);
    Flip(path, at);
    EXPECT_NE(ContentsOf(path), before) << at;
    Flip(path, at);
    EXPECT_EQ(ContentsOf(path), before) << at;
  }
  fs::rename(path, scratch.path("moved"));
  EXPECT_EQ(ContentsOf(scratch.path("moved")), before);
}

TEST(DataIdentityTest, EachByteOfADirectoryCounts) {
  const testing::ScratchDirectory scratch;
  for (const char* name : {"cats/1.bmp", "cats/2.bmp", "dogs/1.bmp"})
    scratch.Write(std::string("images/") + name, std::string("the pixels of ") + name);
  const std::string path = scratch.path("images"), before = ContentsOf(path);
  Flip(path + "/cats/2.bmp", 3);
  EXPECT_NE(ContentsOf(path), before);
  Flip(path + "/cats/2.bmp", 3);
  EXPECT_EQ(ContentsOf(path), before);
  // Two images that change places keep every name and size.
  fs::rename(path + "/cats/1.bmp", path + "/x");
  fs::rename(path + "/dogs/1.bmp", path + "/cats/1.bmp");
  fs::rename(path + "/x", path + "/dogs/1.bmp");
  EXPECT_NE(ContentsOf(path), before);
}

}  // namespace
}  // namespace onward::training
