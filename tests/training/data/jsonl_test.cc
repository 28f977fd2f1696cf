#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "onward/dataset.h"
#include "tests/support/scratch_directory.h"
#include "training/data/loader.h"

namespace onward::training {
namespace {

using ::testing::HasSubstr;
using testing::ScratchDirectory;

class JsonlTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(std::string_view lines,
                                                      const std::string& rest) {
    scratch_.Write("x.jsonl", lines);
    DataConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("jsonl { path: 'x.jsonl' ", rest, "}"), &config));
    return OpenDataset(config, scratch_.path());
  }
  std::string Error(std::string_view lines, const std::string& rest, int64_t index = 0) {
    const auto data = Open(lines, rest);
    if (!data.ok()) return std::string(data.status().message());
    const auto example = (*data)->Read(index, 0);
    EXPECT_EQ(absl::IsDataLoss(example.status()), !example.ok());
    return example.ok() ? "OK" : std::string(example.status().message());
  }
  ScratchDirectory scratch_;
};

TEST_F(JsonlTest, MembersBecomeTensors) {
  const auto data = Open(
      "{\"text\": \"a\\u00e9\", \"x\": [[1, 2], [3.5, 4e2]], \"meta\": {\"kind\": \"dog\"}, \"n\": "
      "-7, \"ok\": true}\r\n  \n"
      "{\"ok\": false, \"n\": 8, \"text\": \"\", \"x\": [[0, 0], [0, null]], \"meta.kind\": "
      "\"cat\"}",
      "field { name: 'x' dim: 2 dim: 2 missing: 9 } field { name: 'label' column: 'meta.kind' "
      "class: 'cat' class: 'dog' }"
      "field { name: 'n' element: INT32 } field { name: 'ok' element: BOOL } field { name: 'text' "
      "element: STRING }");
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 2);
  EXPECT_EQ((*data)->fields()[0].type.ToString(), "float32[2,2]");
  const auto first = (*data)->Read(0, 0);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(SameBits(first->at(0), Tensor::Of<float>({2, 2}, {1, 2, 3.5f, 400})));
  EXPECT_TRUE(SameBits(first->at(1), Tensor::Scalar<int64_t>(1)));
  EXPECT_TRUE(SameBits(first->at(2), Tensor::Scalar<int32_t>(-7)));
  EXPECT_TRUE(SameBits(first->at(3), Tensor::Scalar<bool>(true)));
  EXPECT_TRUE(SameBits(first->at(4), Tensor::Scalar<std::string>("a\xc3\xa9")));
  const auto second = (*data)->Read(1, 0);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(SameBits(second->at(0), Tensor::Of<float>({2, 2}, {0, 0, 0, 9})));
  EXPECT_TRUE(SameBits(second->at(1), Tensor::Scalar<int64_t>(0)));
}

TEST_F(JsonlTest, ListsOfAnyLengthArePadded) {
  const auto data = Open("{\"tokens\":[1,2,3]}\n{\"tokens\":[]}\n{\"tokens\":[4]}\n",
                         "field { name: 'tokens' element: INT64 dim: -1 }");
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->fields()[0].type.ToString(), "int64[tokens_0]");
  auto strict = Loader::Create(*data, {.batch_size = 3});
  EXPECT_THAT(std::string((*strict)->Next().status().message()),
              AllOf(HasSubstr("field 'tokens' of "), HasSubstr("examples of [3] and [0]")));
  auto padded = Loader::Create(*data, {.batch_size = 3, .pad = {{"tokens", -100}}});
  EXPECT_TRUE(SameBits((*padded)->Next()->at("tokens"),
                       Tensor::Of<int64_t>({3, 3}, {1, 2, 3, -100, -100, -100, 4, -100, -100})));
}

// Whoever copied such a document would run out of stack.
TEST_F(JsonlTest, DeepLinesAreBroken) {
  const std::string x = "field { name: 'x' element: INT64 }";
  const auto line = [](int64_t depth) {
    const auto many = static_cast<size_t>(depth - 1);  // within the object
    return absl::StrCat("{\"x\": 1, \"y\": ", std::string(many, '['), std::string(many, ']'),
                        "}\n");
  };
  EXPECT_EQ(Error(line(64), x), "OK");
  EXPECT_THAT(Error(line(65), x), HasSubstr("inside each other more than 64 times"));
  EXPECT_THAT(Error(line(1'000'000), x), HasSubstr("x.jsonl' line 1"));
  EXPECT_EQ(Error("{\"x\": 1, \"y\": \"" + std::string(1000, '[') + "\"}", x), "OK");
}

TEST_F(JsonlTest, BrokenLinesAreNamed) {
  const std::string x = "field { name: 'x' element: INT64 }";
  EXPECT_THAT(Error("{\"x\":1}\n\n{\"x\":1\n", x, 1), HasSubstr("x.jsonl' line 3: not JSON"));
  EXPECT_THAT(Error("[1]\n", x), HasSubstr("line 1: not a JSON object"));
  EXPECT_THAT(Error("{\"y\":1}\n", x), HasSubstr("'x': there is no such member"));
  EXPECT_THAT(Error("{\"x\":1.5}\n", x), HasSubstr("'x': '1.5' is not an integer"));
  EXPECT_THAT(Error("{\"x\":18446744073709551615}\n", x), HasSubstr("is not an integer"));
  EXPECT_THAT(Error("{\"x\":[1]}\n", x), HasSubstr("'[1]' is not an integer"));
  EXPECT_THAT(Error("{\"x\":null}\n", x), HasSubstr("the value is missing"));
  EXPECT_THAT(Error("{\"x\":\"1\"}\n", x), HasSubstr("is not an integer"));
  const std::string list = "field { name: 'x' dim: -1 dim: -1 }";
  EXPECT_EQ(Error("{\"x\":[[1,2],[3,4]]}\n", list), "OK");
  EXPECT_THAT(Error("{\"x\":[[1,2],[3]]}\n", list), HasSubstr("the lists differ in length"));
  EXPECT_THAT(Error("{\"x\":[1,2]}\n", list), HasSubstr("lists of depth 2 are needed"));
  EXPECT_THAT(Error("{\"x\":[[1,2],3]}\n", list), HasSubstr("differ in length"));
  EXPECT_THAT(Error("{\"x\":[1,2]}\n", "field { name: 'x' dim: 3 }"),
              HasSubstr("a list of 2 where 3 are needed"));
  EXPECT_THAT(Error(std::string(200000, '['), x), HasSubstr("more than 64 times"));
  EXPECT_THAT(Error("{\"x\":1}", "field { name: 'x' column: 'a' column: 'b' }"),
              HasSubstr("more than one member"));
}

}  // namespace
}  // namespace onward::training
