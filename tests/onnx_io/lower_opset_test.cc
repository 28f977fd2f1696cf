// Models of the newest opset written at older ones: they pass the checker, and mean the same when
// they are read again.
#include "onnx_io/lower_opset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "onnx/checker.h"
#include "onnx/onnx_pb.h"
#include "onward/export.h"
#include "onward/import.h"
#include "tests/support/text_model.h"

namespace onward::onnx_io {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  int64_t opset;
  const char* text;  // of opset 28
};

absl::StatusOr<std::string> Lowered(const char* text, int64_t opset) {
  auto model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return model.status();
  ExportOptions options;
  options.opset = opset;
  return ExportBytes(*model, options);
}

class LowerOpset : public ::testing::TestWithParam<Case> {};

TEST_P(LowerOpset, MeansTheSame) {
  const auto bytes = Lowered(GetParam().text, GetParam().opset);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(*bytes));
  EXPECT_EQ(proto.opset_import(0).version(), GetParam().opset);
  EXPECT_NO_THROW(onnx::checker::check_model(proto, true));
  const auto before = testing::ModelFromText(GetParam().text), after = ImportBytes(*bytes);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(testing::ValueDifference(before->graph, after->graph), "");
}

constexpr Case kCases[] = {
    {"PlainNodes", 11, "g (float[N,2] x) => (float[N,2] y) { t = Relu(x) y = Add(t, x) }"},
    {"ReducedAxes", 17,
     "g (float[N,3,4] x) => (float[N,1,1] y) <int64[2] axes = {1, -1}> {"
     "y = ReduceMean(x, axes) }"},
    {"AllAxes", 17, "g (float[N,3] x) => (float y) { y = ReduceMax<keepdims = 0>(x) }"},
    {"SumAndUnsqueeze", 12,
     "g (float[N,3] x) => (float[1,N] y) <int64[1] axes = {1}, int64[1] first = {0}> {"
     "s = ReduceSum<keepdims = 0>(x, axes) y = Unsqueeze(s, first) }"},
    {"EqualParts", 17,
     "g (float[N,4] x) => (float[N,2] y) { a, b = Split<axis = 1, num_outputs = 2>(x)"
     "y = Sub(a, b) }"},
    {"PartsOfLengths", 12,
     "g (float[N,4] x) => (float[N,1] y) <int64[2] lengths = {1, 3}> {"
     "y, b = Split<axis = 1>(x, lengths) }"},
    {"BatchNormalization", 13,
     "g (float[N,2] x) => (float[N,2] y) <float[2] s = {1, 2}, float[2] b = {3, 4},"
     "float[2] m = {5, 6}, float[2] v = {7, 8}> {"
     "y = BatchNormalization<training_mode = 0>(x, s, b, m, v) }"},
    {"LayerNormalizationOfALargeMean", 16,
     "g (float[N,4] x) => (float[N,4] y) <float[4] s = {1, 2, 3, 4}, float offset = {300}> {"
     "t = Add(x, offset) y = LayerNormalization(t, s) }"},
    {"GroupNormalizationOfALargeMean", 17,
     "g (float[N,4,16] x) => (float[N,4,16] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {0, 1, 2, "
     "3},"
     "float offset = {60}> { t = Add(x, offset) y = GroupNormalization<num_groups = 2>(t, s, b) "
     "}"},
    {"LayerNormalizationBecomesItsBody", 16,
     "g (float[N,4] x) => (float[N,4] y) <float[4] s = {1, 2, 3, 4}> {"
     "y = LayerNormalization(x, s) }"},
    {"SwishBecomesItsBody", 21, "g (float[N,2] x) => (float[N,2] y) { y = Swish(x) }"},
    {"GeluBecomesItsBody", 13, "g (float[N,2] x) => (float[N,2] y) { y = Gelu(x) }"},
    {"GroupNormalizationBecomesItsBody", 18,
     "g (float[2,4,3] x) => (float[2,4,3] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {4,3,2,1}> {"
     "y = GroupNormalization<num_groups = 2>(x, s, b) }"},
    {"LastAxis", 11, "g (float[N,2,3] x) => (float[N,2,3] y) { y = Softmax<axis = 2>(x) }"},
    {"ResizedBySizes", 11,
     "g (float[1,1,2,2] x) => (float[1,1,4,6] y) <int64[4] sizes = {1, 1, 4, 6}> {"
     "y = Resize<mode = \"linear\">(x, , , sizes) }"},
    {"DropoutOfInference", 11,
     "g (float[N,2] x) => (float[N,2] y) <float ratio = {0.25}> { y = Dropout(x, ratio) }"},
    {"SampledGrid", 16,
     "g (float[1,1,4,4] x, float[1,2,2,2] grid) => (float[1,1,2,2] y) {"
     "y = GridSample<mode = \"linear\">(x, grid) }"},
    {"CeilingThatChangesNothing", 13,
     "g (float[1,1,6,6] x) => (float[1,1,3,3] y) {"
     "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>(x) }"},
    {"DefaultsOfNewAttributes", 13,
     "g (float[N,2] x) => (int64[N,2] y) { y = Cast<to = 7, saturate = 1>(x) }"},
    {"PartOfAShape", 14,
     "g (float[N,3,4] x) => (int64[1] y) { y = Shape<start = -2, end = 2>(x) }"},
    {"ReshapeToKnownSizes", 13,
     "g (float[4,3] x) => (float[2,6] y) <int64[2] s = {2, -1}> {"
     "y = Reshape<allowzero = 1>(x, s) }"},
    {"Bodies", 17,
     "g (float[N,3] x, bool c) => (float[N,1] y) <int64[1] axes = {1}> {"
     "y = If(c) <then_branch = t () => (float[N,1] p) { p = ReduceMean(x, axes) },"
     "else_branch = e () => (float[N,1] q) { q = ReduceMax(x, axes) }> }"},
};
INSTANTIATE_TEST_SUITE_P(All, LowerOpset, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LowerOpsetErrors, EveryNodeInTheWayIsNamed) {
  const struct {
    const char* text;
    int64_t opset;
    const char* error;
  } cases[] = {
      {"g (float[N,3] x, int64[1] axes) => (float[N,1] y) { y = ReduceMean(x, axes) }", 17,
       "[ReduceMean 'y'] needs opset 18, opset 17 is asked for: its `axes` is computed"},
      {"g (float[N,2] x) => (float[N,5] y) <int64[4] p = {0, 1, 0, 2}> {"
       "y = Pad<mode = \"wrap\">(x, p) }",
       18, "[Pad 'y'] needs opset 19, opset 18 is asked for"},
      {"g (float[N,2] x) => (float[N,2] y) { z = Mod(x, x) y = Mod(z, x) }", 22,
       "[Mod 'z'] needs opset 28, opset 22 is asked for: it meant something else, or nothing, "
       "before; [Mod 'y'] needs opset 28"},
      {"g (float[N,2,3] x) => (float[N,2,3] y) { y = Softmax<axis = 1>(x) }", 12,
       "its axis 1 is not the last one"},
      {"g (float[N,3] x, int64[2] s) => (float[M,K] y) { y = Reshape<allowzero = 1>(x, s) }", 13,
       "with allowzero a size of 0, which may come up, was a copy"},
      {"g (float[N,2] x) => (float[N,2] y, bool[N,2] m) { y, m = Dropout(x) }", 11,
       "that opset does not define its mask in inference"},
      {"g (bool c, float[2] x) => (seq(float[2]) y) { y = If(c) <"
       "then_branch = t () => (seq(float[2]) p) { p = SequenceConstruct(x) },"
       "else_branch = e () => (seq(float[2]) q) { q = SequenceConstruct(x, x) }> }",
       12, "[If 'y'] needs opset 13, opset 12 is asked for: it did not make this element type"},
      {"g (float[2] x) => (float[2] y) { y = Relu(x) }", 99,
       "opset 99 cannot be written, only 11 to 28"},
      {"g (float[2] x) => (float[2] y) { y = Relu(x) }", 10,
       "opset 10 cannot be written, only 11 to 28"},
  };
  for (const auto& c : cases) {
    const auto bytes = Lowered(c.text, c.opset);
    ASSERT_FALSE(bytes.ok()) << c.error;
    EXPECT_THAT(std::string(bytes.status().message()), HasSubstr(c.error));
  }
}

}  // namespace
}  // namespace onward::onnx_io
