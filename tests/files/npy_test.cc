#include "files/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/scratch_directory.h"

namespace onward::files {
namespace {

// 546 bytes whose one entry states 2.4 GB.
TEST(NpyTest, ArchivesThatStateMoreThanTheyHold) {
  const auto arrays = ReadNpz(ONWARD_SOURCE_DIR "/tests/fuzz/corpus/npz/declared_size.npz");
  EXPECT_EQ(arrays.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(arrays.status().message()),
              ::testing::HasSubstr("declared_size.npz': entry sizes contradict each other"));
}

// ml_dtypes stores elements of packed types as one byte each, under NumPy's name for raw bytes.
TEST(NpyTest, PackedFloatsAreOneByteEach) {
  const testing::ScratchDirectory scratch;
  const std::string path = scratch.path("six.npy");
  for (const DType dtype : {DType::kFloat6E2M3, DType::kFloat6E3M2}) {
    constexpr int8_t kElements[] = {1, 63, 32, 7, 12};
    Tensor tensor(dtype, {5});
    PackSubByte(dtype, kElements, 5, tensor.raw_mutable_data());
    ASSERT_TRUE(WriteNpy(tensor, path).ok());
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    const std::string text = bytes.str();
    EXPECT_NE(text.find("'descr': '|V1'"), std::string::npos);
    EXPECT_EQ(text.substr(text.size() - 5), "\x01\x3f\x20\x07\x0c");
    const auto back = ReadNpy(path, dtype);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->dtype(), dtype);
    EXPECT_TRUE(SameBits(*back, tensor));
  }
}

}  // namespace
}  // namespace onward::files
