#include "files/safetensors_shards.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_directory.h"

namespace onward::files {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kIndex[] = "model.safetensors.index.json";

class SafetensorsShardsTest : public ::testing::Test {
 protected:
  // A file of one float of each name, with the values `first`, `first` + 1, ...
  void Write(const std::string& file, const std::vector<std::string>& names, float first) {
    Safetensors shard;
    for (const std::string& name : names) {
      shard.tensors[name] = Tensor(DType::kFloat32, {1});
      *shard.tensors[name].mutable_data<float>() = first++;
    }
    shard.metadata["format"] = "pt";
    ASSERT_TRUE(WriteSafetensors(shard, directory_.path(file)).ok());
  }
  absl::StatusOr<Safetensors> Read(const std::string& index) {
    return ReadWeights(directory_.Write(kIndex, index));
  }
  std::string Error(const std::string& index) {
    return std::string(Read(index).status().message());
  }

  testing::ScratchDirectory directory_;
};

// As save_pretrained of transformers writes it.
TEST_F(SafetensorsShardsTest, ReadsTheFilesOfAnIndex) {
  Write("model-00001-of-00002.safetensors", {"b.weight", "a.weight"}, 1);
  Write("model-00002-of-00002.safetensors", {"c"}, 3);
  const auto all = Read(R"({
  "metadata": {"total_parameters": 3, "total_size": 12},
  "weight_map": {
    "a.weight": "model-00001-of-00002.safetensors",
    "b.weight": "model-00001-of-00002.safetensors",
    "c": "model-00002-of-00002.safetensors"
  }
})");
  ASSERT_TRUE(all.ok()) << all.status();
  std::vector<std::string> values;
  for (const auto& [name, tensor] : all->tensors)
    values.push_back(absl::StrCat(name, " ", *tensor.data<float>()));
  EXPECT_THAT(values, ElementsAre("a.weight 2", "b.weight 1", "c 3"));
  EXPECT_EQ(all->metadata.at("format"), "pt");
}

TEST_F(SafetensorsShardsTest, OneFileNeedsNoIndex) {
  Write("x.safetensors", {"a"}, 5);
  const auto all = ReadWeights(directory_.path("x.safetensors"));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(*all->tensors.at("a").data<float>(), 5);
}

TEST_F(SafetensorsShardsTest, NamesWhatIsWrong) {
  Write("x.safetensors", {"a", "b"}, 1);
  Write("y.safetensors", {"b"}, 1);
  EXPECT_THAT(Error("{"), HasSubstr("index.json': not an index of weights"));
  EXPECT_THAT(Error("[]"), HasSubstr("not an index of weights"));
  EXPECT_THAT(Error(R"({"weight_map": ["a"]})"), HasSubstr("not an index of weights"));
  EXPECT_THAT(Error(R"({"weight_map": {"a": "x.safetensors", "c": "x.safetensors"}})"),
              HasSubstr("x.safetensors': 'c', which the index has here, is not in the file"));
  EXPECT_THAT(Error(R"({"weight_map": {"a": "x.safetensors", "b": "y.safetensors"}})"),
              HasSubstr("y.safetensors': 'b' is in another file, too"));
  const auto missing = Read(R"({"weight_map": {"a": "z.safetensors"}})");
  EXPECT_TRUE(absl::IsNotFound(missing.status())) << missing.status();
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("z.safetensors"));
}

TEST_F(SafetensorsShardsTest, FilesLieBesideTheIndex) {
  Write("x.safetensors", {"a"}, 1);
  const std::string whole = directory_.path("x.safetensors");
  for (const std::string& file : {whole, absl::StrCat("../", whole), std::string(".."),
                                  std::string("."), std::string(""), std::string("a\\\\b")})
    EXPECT_THAT(Error(absl::StrCat(R"({"weight_map": {"a": ")", file, "\"}}")),
                HasSubstr("'a': expected the name of a file in the directory of the index"))
        << file;
  EXPECT_THAT(Error(R"({"weight_map": {"a": 3}})"), HasSubstr("expected the name of a file"));
}

}  // namespace
}  // namespace onward::files
