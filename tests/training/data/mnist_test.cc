#include <zlib.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/dataset.h"
#include "tests/support/idx.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/test_data.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;
using testing::Idx;
using testing::ScratchDirectory;

std::string Gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(bytes.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

DataConfig Config() {
  DataConfig config;
  config.mutable_mnist()->set_images("images");
  config.mutable_mnist()->set_labels("labels");
  return config;
}

std::string Error(const std::string& images, const std::string& labels) {
  const ScratchDirectory scratch;
  scratch.Write("images", images);
  scratch.Write("labels", labels);
  const auto data = OpenDataset(Config(), scratch.path());
  return data.ok() ? "OK" : std::string(data.status().message());
}

const std::string kImages =
    Idx({2, 2, 3}, std::string("\x00\x33\xff\x01\x02\x03\x04\x05\x06\x07\x08\x09", 12));
const std::string kLabels = Idx({2}, "\x07\x01");

TEST(MnistTest, PixelsAreShiftedAndScaled) {
  const ScratchDirectory scratch;
  scratch.Write("images", kImages);
  scratch.Write("labels", Gzip(kLabels));
  DataConfig config = Config();
  config.mutable_mnist()->set_mean(0.5f);
  config.mutable_mnist()->set_deviation(0.25f);
  const auto data = OpenDataset(config, scratch.path());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), 2);
  EXPECT_EQ((*data)->fields()[0].type.ToString(), "float32[1,2,3]");
  EXPECT_EQ((*data)->fields()[1].type.ToString(), "int64[]");
  const auto example = (*data)->Read(0, 0);
  ASSERT_TRUE(example.ok());
  EXPECT_EQ((*example)[0].dims(), (Dims{1, 2, 3}));
  EXPECT_FLOAT_EQ((*example)[0].data<float>()[0], -2.0f);
  EXPECT_FLOAT_EQ((*example)[0].data<float>()[1], (0.2f - 0.5f) / 0.25f);
  EXPECT_FLOAT_EQ((*example)[0].data<float>()[2], 2.0f);
  EXPECT_EQ((*example)[1].data<int64_t>()[0], 7);
}

TEST(MnistTest, RefusesBrokenFiles) {
  EXPECT_EQ(Error(kImages, kLabels), "OK");
  EXPECT_THAT(Error("", kLabels), HasSubstr("images': not an IDX file"));
  EXPECT_THAT(Error(kImages.substr(0, 9), kLabels), HasSubstr("images': truncated IDX header"));
  EXPECT_THAT(Error(kImages.substr(0, kImages.size() - 1), kLabels),
              HasSubstr("images': truncated: shape [2,2,3] needs 12 bytes, 11 are there"));
  EXPECT_THAT(Error(kImages + "x", kLabels), HasSubstr("needs 12 bytes, 13 are there"));
  EXPECT_THAT(Error(kLabels, kLabels), HasSubstr("rank 3 is needed, the shape is [2]"));
  EXPECT_THAT(Error(Idx({1}, "1234", 13), kLabels), HasSubstr("elements of type 13"));
  EXPECT_THAT(Error(Idx({0xffffffff, 0xffffffff, 0xffffffff}, ""), kLabels), HasSubstr("2^63"));
  EXPECT_THAT(Error(kImages, Idx({1}, "\x07")), HasSubstr("has 2 images"));
  const std::string packed = Gzip(kImages);
  EXPECT_EQ(Error(packed, kLabels), "OK");
  EXPECT_EQ(Error(Gzip(kImages.substr(0, 7)) + Gzip(kImages.substr(7)), kLabels), "OK");
  for (size_t i = 2; i < packed.size(); ++i)
    EXPECT_THAT(Error(packed.substr(0, i), kLabels),
                HasSubstr("images': the compressed data ends early"));
  std::string flipped = packed;
  flipped[packed.size() - 6] ^= 1;
  EXPECT_THAT(Error(flipped, kLabels), HasSubstr("images': incorrect data check"));
}

TEST(MnistTest, MissingFilesAreNamed) {
  const ScratchDirectory scratch;
  const auto data = OpenDataset(Config(), scratch.path());
  EXPECT_EQ(data.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(data.status().message()), HasSubstr(scratch.path("images")));
  EXPECT_EQ(OpenDataset(DataConfig(), "").status().code(), absl::StatusCode::kInvalidArgument);
}

// The mean and deviation that everybody knows of the training images.
TEST(MnistTest, TheRealFiles) {
  const std::string root = testing::DirectoryFrom("ONWARD_DATA_DIR");
  ONWARD_NEEDS_DATA(root, "ONWARD_DATA_DIR");
  DataConfig config;
  config.mutable_mnist()->set_images("data/mnist/train-images-idx3-ubyte.gz");
  config.mutable_mnist()->set_labels("data/mnist/train-labels-idx1-ubyte.gz");
  const auto data = OpenDataset(config, root);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 60000);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < 60000; ++i) {
    const auto example = (*data)->Read(i, 0);
    ASSERT_TRUE(example.ok());
    for (const float pixel : (*example)[0].span<float>()) {
      sum += pixel;
      squares += pixel * pixel;
    }
  }
  const double mean = sum / (60000 * 784);
  EXPECT_NEAR(mean, 0.1307, 5e-5);
  EXPECT_NEAR(std::sqrt(squares / (60000 * 784) - mean * mean), 0.3081, 5e-5);
  EXPECT_EQ((*data)->ReadField(0, 1)->data<int64_t>()[0], 5);
}

}  // namespace
}  // namespace onward::training
