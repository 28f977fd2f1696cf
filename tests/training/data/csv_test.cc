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

class CsvTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<const Dataset>> Open(std::string_view csv,
                                                      const std::string& rest) {
    scratch_.Write("x.csv", csv);
    DataConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("csv { path: 'x.csv' ", rest, "}"), &config));
    return OpenDataset(config, scratch_.path());
  }
  Tensor Read(const Dataset& data, int64_t index, size_t field = 0) {
    const auto example = data.Read(index, 0);
    EXPECT_TRUE(example.ok()) << example.status();
    return example->at(field);
  }
  std::string Error(std::string_view csv, const std::string& rest, int64_t index = 0) {
    const auto data = Open(csv, rest);
    if (!data.ok()) return std::string(data.status().message());
    const auto example = (*data)->Read(index, 0);
    EXPECT_EQ(absl::IsDataLoss(example.status()), !example.ok());
    return example.ok() ? "OK" : std::string(example.status().message());
  }
  ScratchDirectory scratch_;
};

TEST_F(CsvTest, ColumnsByNameAndPattern) {
  const auto data =
      Open("\xef\xbb\xbfid,p0,p1,p2,p3,kind\r\n7,1,-2.5,+3, 4 ,dog\r\n\r\n8,1e3,0,nan,inf,\"cat\"",
           "field { name: 'pixels' column: 'p*' dim: 2 dim: 2 mean: 1 deviation: 2 }"
           "field { name: 'label' column: 'kind' class: 'cat' class: 'dog' }"
           "field { name: 'id' element: INT32 } field { name: 'kind' element: STRING }");
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 2);
  EXPECT_EQ((*data)->fields()[0].type.ToString(), "float32[2,2]");
  EXPECT_TRUE(SameBits(Read(**data, 0), Tensor::Of<float>({2, 2}, {0, -1.75f, 1, 1.5f})));
  EXPECT_TRUE(SameBits(Read(**data, 0, 1), Tensor::Scalar<int64_t>(1)));
  EXPECT_TRUE(SameBits(Read(**data, 1, 1), Tensor::Scalar<int64_t>(0)));
  EXPECT_TRUE(SameBits(Read(**data, 1, 2), Tensor::Scalar<int32_t>(8)));
  EXPECT_TRUE(SameBits(Read(**data, 1, 3), Tensor::Scalar<std::string>("cat")));
  EXPECT_TRUE(std::isnan(Read(**data, 1).data<float>()[2]));
}

TEST_F(CsvTest, ColumnsByPosition) {
  const auto data = Open(
      "1;2;true\n3;4;0\n",
      "header: false delimiter: ';' field { name: 'x' column: '1' column: '0' element: FLOAT64 }"
      "field { name: 'b' column: '2' element: BOOL }");
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->size(), 2);
  EXPECT_TRUE(SameBits(Read(**data, 1), Tensor::Of<double>({2}, {4, 3})));
  EXPECT_TRUE(SameBits(Read(**data, 0, 1), Tensor::Scalar<bool>(true)));
}

// RFC 4180: quotes are doubled, values may have delimiters and line ends.
TEST_F(CsvTest, QuotedValues) {
  const auto data = Open("a,b\n\"x \"\"y\"\", z\nnext\",1\n\"\",2\r\nit's 5\" long,\"3\"\r\n",
                         "field { name: 'a' element: STRING } field { name: 'b' element: INT64 }");
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ((*data)->size(), 3);
  EXPECT_EQ(Read(**data, 0).data<std::string>()[0], "x \"y\", z\nnext");
  EXPECT_EQ(Read(**data, 1).data<std::string>()[0], "");
  EXPECT_EQ(Read(**data, 2).data<std::string>()[0], "it's 5\" long");
  EXPECT_EQ(Read(**data, 2, 1).data<int64_t>()[0], 3);
}

TEST_F(CsvTest, MissingValues) {
  const auto data = Open("a,b\n,\n",
                         "field { name: 'a' missing: -1 mean: 5 deviation: 2 } field { name: 'b' "
                         "element: INT64 missing: -100 }");
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_FLOAT_EQ(Read(**data, 0).data<float>()[0], -1);
  EXPECT_EQ(Read(**data, 0, 1).data<int64_t>()[0], -100);
}

TEST_F(CsvTest, BrokenRecordsNameTheirLine) {
  const std::string x = "field { name: 'x' } ";
  EXPECT_THAT(Error("x,y\n1,2\n3,abc\n", "field { name: 'y' }", 1),
              HasSubstr("x.csv' line 3: column 1, field 'y': 'abc' is not a number"));
  EXPECT_THAT(Error("x,y\n1,2,3\n", x), HasSubstr("line 2: 3 values where the first line has 2"));
  EXPECT_THAT(Error("x\n1\n\n\n1x\n", x, 1),
              HasSubstr("line 5: column 0, field 'x': '1x' is not a number"));
  EXPECT_THAT(Error("x,y\n\"a\nb\",1\n,2\n", "field { name: 'y' element: INT32 } " + x, 1),
              HasSubstr("line 4: column 0, field 'x': the value is missing"));
  EXPECT_THAT(Error("x\n\"1\n2\n", x),
              HasSubstr("line 2: a quoted value does not end as it should"));
  EXPECT_THAT(Error("x\n\"1\"2\n", x), HasSubstr("line 2: a quoted value"));
  EXPECT_THAT(Error("x\n3000000000\n", "field { name: 'x' element: INT32 }"),
              HasSubstr("'3000000000' is not a 32-bit integer"));
  EXPECT_THAT(Error("x\n99999999999999999999\n", "field { name: 'x' element: INT64 }"),
              HasSubstr("is not an integer"));
  EXPECT_THAT(Error("x\n1.5\n", "field { name: 'x' element: INT64 }"),
              HasSubstr("'1.5' is not an integer"));
  EXPECT_THAT(Error("x\nyes\n", "field { name: 'x' element: BOOL }"),
              HasSubstr("'yes' is not a bool"));
  EXPECT_THAT(Error("x\nbird\n", "field { name: 'x' class: 'cat' }"),
              HasSubstr("'bird' is not a class"));
}

TEST_F(CsvTest, BrokenRecordsAreSkippedWhereAsked) {
  const auto data = Open("x\n1\n?\n3\n", "field { name: 'x' }");
  ASSERT_TRUE(data.ok());
  auto loader = Loader::Create(*data, {.batch_size = 3, .skip_broken = true});
  EXPECT_TRUE(SameBits((*loader)->Next()->at("x"), Tensor::Of<float>({2}, {1, 3})));
  EXPECT_EQ((*loader)->broken_examples(), 1);
}

TEST_F(CsvTest, BadFilesAndConfigs) {
  EXPECT_THAT(Error("", "field { name: 'x' }"), HasSubstr("x.csv': the file is empty"));
  EXPECT_THAT(Error("\"x\n", "field { name: 'x' }"), HasSubstr("line 1: a quoted value"));
  EXPECT_THAT(Error("x\n1\n", ""), HasSubstr("needs a field"));
  EXPECT_THAT(Error("x\n1\n", "field { name: 'y' }"),
              HasSubstr("field 'y': none of the 1 columns is named 'y'"));
  EXPECT_THAT(Error("x\n1\n", "field { name: 'x' dim: 2 }"),
              HasSubstr("1 columns do not make [2]"));
  EXPECT_THAT(Error("x\n1\n", "field { name: 'x' dim: -1 }"), HasSubstr("do not make [-1]"));
  EXPECT_THAT(Error("x\n1\n", "field { name: 'x' deviation: 0 }"), HasSubstr("deviation positive"));
  EXPECT_THAT(Error("x\n1\n", "field { name: 'x' class: 'a' class: 'a' }"),
              HasSubstr("appears twice"));
  EXPECT_THAT(Error("x\n1\n", "delimiter: ',,' field { name: 'x' }"), HasSubstr("delimiter"));
}

}  // namespace
}  // namespace onward::training
