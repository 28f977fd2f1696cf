#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "files/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/dataset.h"
#include "tests/support/scratch_directory.h"
#include "training/data/loader.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;
using testing::ScratchDirectory;

void Write(const std::string& path, int64_t rows, int64_t start) {
  files::Safetensors file;
  Tensor x(DType::kFloat32, Dims{rows, 2}), y(DType::kInt64, Dims{rows});
  for (int64_t i = 0; i < rows; ++i) {
    x.mutable_data<float>()[2 * i] = static_cast<float>(start + i);
    x.mutable_data<float>()[2 * i + 1] = 0;
    y.mutable_data<int64_t>()[i] = start + i;
  }
  file.tensors = {{"x", x}, {"y", y}};
  ASSERT_TRUE(files::WriteSafetensors(file, path).ok());
}

TEST(ArraysTest, FilesFollowEachOther) {
  const ScratchDirectory scratch;
  Write(scratch.path("a"), 3, 0);
  Write(scratch.path("b"), 2, 3);
  DataConfig config;
  config.mutable_safetensors()->add_path("a");
  config.mutable_safetensors()->add_path(scratch.path("b"));
  config.mutable_safetensors()->add_field("y");
  const auto data = OpenDataset(config, scratch.path());
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->fields().size(), 1u);
  auto loader = Loader::Create(*data, {.batch_size = 5});
  EXPECT_TRUE(SameBits((*loader)->Next()->at("y"), Tensor::Of<int64_t>({5}, {0, 1, 2, 3, 4})));
  config.mutable_safetensors()->set_field(0, "z");
  EXPECT_THAT(std::string(OpenDataset(config, scratch.path()).status().message()),
              HasSubstr(absl::StrCat("'", scratch.path(), "/a': has no array 'z'")));
}

TEST(ArraysTest, PartsOfADataSet) {
  const ScratchDirectory scratch;
  Write(scratch.path("a"), 10, 0);
  DataConfig config;
  config.mutable_safetensors()->add_path("a");
  const auto values = [&] {
    const auto data = OpenDataset(config, scratch.path());
    EXPECT_TRUE(data.ok()) << data.status();
    std::vector<int64_t> all;
    for (int64_t i = 0; i < (*data)->size(); ++i)
      all.push_back((*data)->Read(i, 0)->at(1).data<int64_t>()[0]);
    return all;
  };
  config.mutable_part()->set_to(0.7);
  EXPECT_EQ(values(), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6}));
  config.mutable_part()->set_seed(3);
  std::vector<int64_t> both = values();
  EXPECT_EQ(both.size(), 7u);
  config.mutable_part()->set_from(0.7);
  config.mutable_part()->set_to(1);
  for (const int64_t value : values()) both.push_back(value);
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  config.mutable_part()->set_limit(1);
  EXPECT_EQ(values().size(), 1u);
  config.mutable_part()->set_from(2);
  EXPECT_THAT(std::string(OpenDataset(config, scratch.path()).status().message()),
              HasSubstr("0 <= from < to <= 1"));
}

TEST(ArraysTest, Npz) {
  DataConfig config;
  config.mutable_npz()->add_path("decoded.npz");
  const std::string folder = ONWARD_SOURCE_DIR "/tests/training/data/images";
  config.mutable_npz()->add_field("cat/a.png");
  const auto data = OpenDataset(config, folder);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), 19);
  EXPECT_EQ((*data)->fields()[0].type.ToString(), "uint8[26,3]");
  config.mutable_npz()->set_path(0, "none.npz");
  EXPECT_FALSE(OpenDataset(config, folder).ok());
}

}  // namespace
}  // namespace onward::training
