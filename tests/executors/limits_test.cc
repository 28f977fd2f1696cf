// A run that would take too much is refused with a status, and the session continues.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/session.h"
#include "tests/support/text_model.h"

namespace onward::executors {
namespace {

using ::testing::HasSubstr;
using testing::ModelFromText;

constexpr int64_t kMegabyte = int64_t{1} << 20;

std::unique_ptr<Session> SessionOf(const std::string& text, const SessionOptions& options) {
  absl::StatusOr<Model> model = ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

void ExpectRefused(Session& session, const Session::Inputs& inputs, const std::string& why) {
  const absl::StatusOr<Session::Outputs> outputs = session.Run(inputs);
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kResourceExhausted) << outputs.status();
  EXPECT_THAT(std::string(outputs.status().message()), HasSubstr(why));
}

TEST(LimitsTest, OutputsWhoseSizeTheInputDecides) {
  SessionOptions options;
  options.max_memory = kMegabyte;
  const auto session =
      SessionOf("g (int64[2] shape) => (float[a, b] y) { y = ConstantOfShape(shape) }", options);
  const auto shape = [](int64_t a, int64_t b) {
    return Session::Inputs{{"shape", Tensor::Of<int64_t>({2}, {a, b})}};
  };
  ExpectRefused(*session, shape(1024, 1024), "above the limit of 1048576 bytes");
  ExpectRefused(*session, shape(int64_t{1} << 20, int64_t{1} << 20), "[ConstantOfShape");
  EXPECT_FALSE(session->Run(shape(int64_t{1} << 40, int64_t{1} << 40)).ok());
  EXPECT_FALSE(session->Run(shape(-1, 4)).ok());
  for (int i = 0; i < 10; ++i) {  // what is freed can be taken again
    EXPECT_TRUE(session->Run(shape(256, 300)).ok());
  }
}

TEST(LimitsTest, PlannedMemory) {
  SessionOptions options;
  options.max_memory = kMegabyte;
  const auto session = SessionOf(
      "g (float[n,1] x, float[n] z) => (float[n,n] y) { t = Mul(x, z) y = Exp(t) }", options);
  const auto inputs = [](int64_t n) {
    Tensor column(DType::kFloat32, {n, 1});
    std::fill_n(column.mutable_data<float>(), n, 1.0f);
    return Session::Inputs{{"x", column}, {"z", column.Reshaped({n})}};
  };
  ExpectRefused(*session, inputs(1000), "above the limit");
  ExpectRefused(*session, inputs(4000), "above the limit");
  EXPECT_TRUE(session->Run(inputs(100)).ok());
}

TEST(LimitsTest, ConstantsThatFoldingWouldMake) {
  SessionOptions options;
  options.max_memory = kMegabyte;
  const auto session = SessionOf(
      "g (float[2] x) => (float[n] z) <int64[1] n = {4000000000000}> "
      "{ y = ConstantOfShape(n) z = Neg(y) }",
      options);
  ExpectRefused(*session, {{"x", Tensor::Of<float>({2}, {1, 2})}}, "");
}

TEST(LimitsTest, LoopsWithoutEnd) {
  SessionOptions options;
  options.max_executed_nodes = 1000;
  const auto session = SessionOf(
      "g (int64 trips, float[1] x) => (float[1] y) <bool go = {1}> {"
      "  y = Loop (trips, go, x) <body = b (int64 i, bool c, float[1] v) => (bool d, float[1] w)"
      "    { d = Identity(c) w = Neg(v) }>"
      "}",
      options);
  const auto trips = [](int64_t count) {
    return Session::Inputs{{"trips", Tensor::Scalar<int64_t>(count)},
                           {"x", Tensor::Of<float>({1}, {1.0f})}};
  };
  ExpectRefused(*session, trips(std::numeric_limits<int64_t>::max()),
                "executes more nodes than the limit of 1000");
  EXPECT_TRUE(session->Run(trips(20)).ok());
}

}  // namespace
}  // namespace onward::executors
