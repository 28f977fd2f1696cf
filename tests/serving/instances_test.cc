#include "serving/instances.h"

#include <stop_token>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

// y = x + addend, after so many turns of a loop.
std::shared_ptr<Session> Adds(const std::string& addend) {
  auto model = testing::ModelFromText(
      "g (int64 trips, float x) => (float y) <bool go = {1}, float a = {" + addend +
      "}> {"
      "  z = Loop (trips, go, x) <body = b (int64 i, bool c, float v) => (bool d, float w)"
      "  { d = Identity (c) w = Identity (v) }> y = Add (z, a) }");
  EXPECT_TRUE(model.ok()) << model.status();
  auto session = Session::Create(*std::move(model), {.num_threads = 1});
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

Session::Inputs Inputs(int64_t trips) {
  Session::Inputs inputs;
  inputs["trips"] = Value(Tensor::Scalar(trips));
  inputs["x"] = Value(Tensor::Scalar(1.0f));
  return inputs;
}

float Result(const Instances& instances) {
  const auto outputs = instances.Run(Inputs(1), {});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs->at("y").tensor().data<float>()[0];
}

TEST(InstancesTest, RunsGoWhereTheFewestAre) {
  const Instances instances({{Adds("10"), 1}, {Adds("20"), 1}});
  EXPECT_EQ(instances.most_runs(), 2);
  EXPECT_EQ(Result(instances), 11);
  std::jthread busy([&](const std::stop_token& stop) {
    RunOptions options;
    options.cancel = stop;
    EXPECT_FALSE(instances.Run(Inputs(INT64_MAX), options).ok());
  });
  for (int i = 0; i < 10000 && Result(instances) != 21; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(Result(instances), 21);
  busy.request_stop();
  busy.join();
  EXPECT_EQ(Result(instances), 11);
}

TEST(InstancesTest, AnyNumberWhereOneDeviceHasIt) {
  EXPECT_EQ(Instances({{Adds("1"), 2}, {Adds("2"), 0}}).most_runs(), 0);
}

}  // namespace
}  // namespace onward::serving
