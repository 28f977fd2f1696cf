// Models that once led inference, passes or kernels astray: each is refused with a reason, or runs.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

using ::testing::HasSubstr;

// What becomes of the model, imported, compiled and run on the inputs: "OK" or the error.
std::string Outcome(const std::string& text, const std::vector<Value>& inputs = {}) {
  absl::StatusOr<Model> model = testing::ModelFromText(text);
  if (!model.ok()) return std::string(model.status().message());
  SessionOptions options;
  options.max_memory = int64_t{64} << 20;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(model), options);
  if (!session.ok()) return std::string(session.status().message());
  std::vector<Value> outputs((*session)->outputs().size());
  const absl::Status status = (*session)->Run(inputs, absl::MakeSpan(outputs));
  return status.ok() ? "OK" : std::string(status.message());
}

Tensor Floats(DimsView dims) {
  Tensor tensor(DType::kFloat32, dims);
  std::fill_n(tensor.mutable_data<float>(), tensor.num_elements(), 1.0f);
  return tensor;
}

TEST(HostileModelTest, IndicesOfInference) {
  EXPECT_THAT(Outcome("g (float[2,3] x, int64[2,1] i) => (y) "
                      "{ y = GatherND <batch_dims=-4> (x, i) }"),
              HasSubstr("[GatherND 'y'] batch_dims -4 is out of range for rank 2"));
  EXPECT_THAT(Outcome("g (float[2,3] x, float[3] s) => (y, m) "
                      "{ y, m = LayerNormalization <axis=9223372036854775807> (x, s) }"),
              HasSubstr("axis 9223372036854775807 is out of range"));
  EXPECT_THAT(Outcome("g (float[2,3] x, float[3] s) => (y, m) "
                      "{ y, m = LayerNormalization <axis=3> (x, s) }"),
              HasSubstr("axis 3 is out of range for rank 2"));
  EXPECT_THAT(Outcome("g (float[8] x) => (y) { y = Split <num_outputs=1099511627776> (x) }"),
              HasSubstr("num_outputs 1099511627776 is out of range"));
  EXPECT_THAT(Outcome("g (float[1,0] x) => (y) <int64[0] a = {}, int64[1] d = {1}> "
                      "{ y = Range (a, d, d) }"),
              HasSubstr("[Range 'y']"));
}

TEST(HostileModelTest, TypesThatAreWrongOrNotKnown) {
  // Inference gives the output the type of x; the standard, and the kernel, that of the scale.
  EXPECT_EQ(Outcome("g (float16[2,3] x, double[3] s) => (double[2,3] y) "
                    "{ y = RMSNormalization (x, s) }",
                    {Tensor(DType::kFloat16, {2, 3}), Tensor(DType::kFloat64, {3})}),
            "OK");
  EXPECT_THAT(Outcome("g (float16[2,3] x, double[3] s) => (float16[2,3] y) "
                      "{ y = RMSNormalization (x, s) }"),
              HasSubstr("[RMSNormalization 'y']"));
  EXPECT_THAT(Outcome("g (float[2] x) => (int8[2] y) { y = Neg (x) }"), HasSubstr("[Neg 'y']"));
  EXPECT_THAT(Outcome("g (float[2] x) => (y) { t = Neg (x) y = SequenceMap (t) <body = b (a) => "
                      "(c) { c = Neg (a) }> }"),
              HasSubstr("[SequenceMap 'y']"));
}

TEST(HostileModelTest, TypesThatChangeInLoops) {
  EXPECT_THAT(Outcome("g (int64 n, float[4] x) => (y) <bool go = {1}> {"
                      "  y = Loop (n, go, x) <body = b (int64 i, bool c, v) => (bool d, w)"
                      "    { d = Identity (c) w = Cast <to=11> (v) }> }",
                      {Tensor::Scalar<int64_t>(3), Floats({4})}),
              ::testing::Not("OK"));
  EXPECT_THAT(Outcome("g (bool c, float[4] x) => (y) {"
                      "  y = If (c) <then_branch = t () => (a) { a = Neg (x) },"
                      "              else_branch = e () => (b) { b = Cast <to=3> (x) }> }",
                      {Tensor::Scalar<bool>(false), Floats({4})}),
              ::testing::Not("OK"));
}

TEST(HostileModelTest, EmptyTensors) {
  EXPECT_EQ(Outcome("g (float[17,0,3] x, float[0] s) => (y) "
                    "{ y = GroupNormalization <num_groups=4294967296> (x, s, s) }",
                    {Floats({17, 0, 3}), Floats({0})}),
            "OK");
  EXPECT_EQ(Outcome("g (float[0] x) => (y) <int64[1] a = {5}, int64[1] b = {-9}, int64[1] c = {0}, "
                    "int64[1] s = {-1}> { y = Slice (x, a, b, c, s) }",
                    {Floats({0})}),
            "OK");
  EXPECT_EQ(Outcome("g (float[2,4,1] x, float[2,0,1] u, int64[2] i) => (y) "
                    "{ y = TensorScatter <axis=1, mode=\"circular\"> (x, u, i) }",
                    {Floats({2, 4, 1}), Floats({2, 0, 1}), Tensor::Of<int64_t>({2}, {0, 1000})}),
            "OK");
}

TEST(HostileModelTest, OmittedOutputsBeforeDeadOnes) {
  EXPECT_EQ(Outcome("g (float[3] x) => (y) { u, , i, c = Unique (x) y = Neg (u) }", {Floats({3})}),
            "OK");
}

}  // namespace
}  // namespace onward::executors
