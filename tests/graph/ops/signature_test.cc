#include "graph/ops/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/defs/schema.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

TEST(Signature, SaysWhatTheSchemaSays) {
  const auto schema = SchemaFromSignature(
      "my.domain",
      "Mix <axis: int = -1, mode: string = \"max\", scale: float?, sizes: ints = [1, 2], n: int> "
      "(X: T, bias: T?, rest: V...?) -> (Y: T, lists: seq(tensor(float))?) "
      "where T = float16|float, V = tensor(int32)|map(int64,tensor(float))");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->Name(), "Mix");
  EXPECT_EQ(schema->domain(), "my.domain");
  const auto& attributes = schema->attributes();
  EXPECT_EQ(attributes.at("axis").default_value.i(), -1);
  EXPECT_EQ(attributes.at("mode").default_value.s(), "max");
  EXPECT_FALSE(attributes.at("scale").required);
  EXPECT_EQ(attributes.at("sizes").default_value.ints_size(), 2);
  EXPECT_TRUE(attributes.at("n").required);
  ASSERT_EQ(schema->inputs().size(), 3u);
  EXPECT_EQ(schema->inputs()[1].GetOption(), onnx::OpSchema::Optional);
  EXPECT_EQ(schema->inputs()[2].GetOption(), onnx::OpSchema::Variadic);
  EXPECT_EQ(schema->inputs()[2].GetMinArity(), 0);
  EXPECT_EQ(schema->outputs()[1].GetTypeStr(), "seq(tensor(float))");
  EXPECT_EQ(schema->typeConstraintParams()[1].allowed_type_strs[1], "map(int64,tensor(float))");
}

TEST(Signature, SaysWhereItIsWrong) {
  const auto message = [](const char* text) {
    return std::string(SchemaFromSignature("d", text).status().message());
  };
  EXPECT_THAT(message("Op (X: T) - (Y: T)"), HasSubstr("'- (Y: T)' where '->' is expected"));
  EXPECT_THAT(message("Op <axis: number> () -> ()"), HasSubstr("a kind of attribute is expected"));
  EXPECT_THAT(message("Op <axis: int = x> () -> ()"), HasSubstr("'x> () -> ()' where a number"));
  EXPECT_THAT(message("Op <mode: string = \"a> () -> ()"), HasSubstr("a closing quote"));
  EXPECT_THAT(message("Op (X: T) -> (Y: T) what"), HasSubstr("'what' where the end is expected"));
}

}  // namespace
}  // namespace onward
