// Inputs and outputs that stay on the device between runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "onward/device_tensor.h"
#include "tests/emulated_cuda/compared_session.h"
#include "tests/emulated_cuda/device.h"

namespace onward::emulated_cuda {
namespace {

// A state that each run adds to, and that a product reads.
constexpr char kModel[] =
    "g (float[n, 4] x, float[4, 4] state) => (float[n, 4] y, float[4, 4] next) "
    "<float[4, 4] w = {1,2,3,4, 4,3,2,1, 1,-1,1,-1, 0,2,0,2}> {"
    "grown = MatMul (state, w) s = Tanh (grown) next = Add (state, s)"
    "a = MatMul (x, next) b = Softmax (a) y = MatMul (b, w) }";

Tensor Numbers(const Dims& dims, int64_t seed) {
  Tensor tensor(DType::kFloat32, dims);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = static_cast<float>((i + seed) * 37 % 101) / 100;
  return tensor;
}

std::unique_ptr<Session> SessionThatKeeps(const std::vector<std::string>& names,
                                          const std::string& provider = "cuda",
                                          const char* text = kModel) {
  absl::StatusOr<Model> model = testing::ModelFromText(text);
  EXPECT_TRUE(model.ok()) << model.status();
  if (std::string(text) == kModel) {
    const Graph& graph = model->graph;
    model->updates.push_back({graph.inputs()[1], graph.outputs()[1]});
  }
  SessionOptions options;
  options.provider = provider;
  options.num_threads = 1;
  options.device_values = names;
  auto session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

Tensor OnHost(const Value& value) {
  const absl::StatusOr<Tensor> host = ToHost(value.tensor());
  EXPECT_TRUE(host.ok()) << host.status();
  return host.ok() ? *host : Tensor();
}

class DeviceValuesTest : public ::testing::TestWithParam<Settings> {
 protected:
  void SetUp() override { Configure(GetParam()); }
  void TearDown() override { Configure({}); }
};

TEST_P(DeviceValuesTest, AStateStaysThereFromRunToRun) {
  const auto device = SessionThatKeeps({"state", "next"}), host = SessionThatKeeps({}, "cpu");
  ASSERT_TRUE(device != nullptr && host != nullptr);
  Value on_device(Numbers({4, 4}, 1)), on_host(Numbers({4, 4}, 1));
  for (int64_t run = 0; run < 6; ++run) {
    SCOPED_TRACE(run);
    std::vector<Value> got(2), expected(2);
    if (run > 0) got[1] = on_device;  // the state may be written over
    ResetCounters();
    const Value x(Numbers({3, 4}, run));
    const absl::Status ran = device->Run(std::vector<Value>{x, on_device}, absl::MakeSpan(got));
    ASSERT_TRUE(ran.ok()) << ran;
    EXPECT_EQ(Counted().copies_to_host, 1) << "of y";
    EXPECT_EQ(Counted().copies_to_device, run == 0 ? 2 : 1) << "of x, and at first of the state";
    ASSERT_TRUE(host->Run(std::vector<Value>{x, on_host}, absl::MakeSpan(expected)).ok());
    EXPECT_EQ(got[1].tensor().device(), (Device{Device::Kind::kCuda, 0}));
    EXPECT_EQ(testing::Difference(got[0].tensor(), expected[0].tensor(), 1e-5, 1e-5), "");
    EXPECT_EQ(testing::Difference(OnHost(got[1]), expected[1].tensor(), 1e-5, 1e-5), "");
    if (run > 0) {
      EXPECT_EQ(got[1].tensor().raw_data(), on_device.tensor().raw_data());
    }
    on_device = got[1];
    on_host = expected[1];
  }
}

// A state that is written over lies at the same addresses in each run: its steps are recorded, too.
TEST_P(DeviceValuesTest, RunsOverAStateAreRecorded) {
  const auto device = SessionThatKeeps({"*"});
  ASSERT_NE(device, nullptr);
  const auto moved = [](const Tensor& tensor) { return Value(*ToDevice(tensor, "cuda")); };
  const std::vector<Value> inputs = {moved(Numbers({3, 4}, 1)), moved(Numbers({4, 4}, 2))};
  std::vector<Value> outputs = {Value(), inputs[1]};
  for (int64_t run = 0; run < 3; ++run)
    ASSERT_TRUE(device->Run(inputs, absl::MakeSpan(outputs)).ok());
  ResetCounters();
  ASSERT_TRUE(device->Run(inputs, absl::MakeSpan(outputs)).ok());
  const Counters counted = Counted();
  EXPECT_EQ(counted.graph_launches, 1);
  EXPECT_EQ(counted.graphs, 0);
  EXPECT_EQ(counted.copies_to_device, 0);
  EXPECT_EQ(counted.copies_to_host, 0);
  EXPECT_EQ(counted.allocations, 0);
  EXPECT_EQ(counted.synchronizations, 1) << "at the end, behind which callers read the outputs";
}

// Memory that is another one in each run is not recorded for one run each.
TEST_P(DeviceValuesTest, ChangingMemoryIsRight) {
  const auto device = SessionThatKeeps({"*"}), host = SessionThatKeeps({}, "cpu");
  ASSERT_TRUE(device != nullptr && host != nullptr);
  std::vector<Value> held[2];
  for (int64_t i = 0; i < 2; ++i) {
    for (const Tensor& tensor : {Numbers({3, 4}, i), Numbers({4, 4}, i + 5)})
      held[i].emplace_back(*ToDevice(tensor, "cuda"));
  }
  ResetCounters();
  for (const int64_t which : {0, 1, 0, 1, 0, 0, 0, 1, 1, 1}) {
    std::vector<Value> outputs(2), expected(2);
    ASSERT_TRUE(device->Run(held[which], absl::MakeSpan(outputs)).ok());
    const std::vector<Value> given = {Value(Numbers({3, 4}, which)),
                                      Value(Numbers({4, 4}, which + 5))};
    ASSERT_TRUE(host->Run(given, absl::MakeSpan(expected)).ok());
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(testing::Difference(OnHost(outputs[i]), expected[i].tensor(), 1e-5, 1e-5), "");
  }
}

TEST_P(DeviceValuesTest, AStateGivenOnTheHostIsNotWrittenThere) {
  const auto device = SessionThatKeeps({"state", "next"});
  const Value state(Numbers({4, 4}, 1));
  std::vector<Value> outputs = {Value(), state};
  ASSERT_TRUE(
      device->Run(std::vector<Value>{Value(Numbers({3, 4}, 1)), state}, absl::MakeSpan(outputs))
          .ok());
  EXPECT_TRUE(SameBits(state.tensor(), Numbers({4, 4}, 1)));
  EXPECT_FALSE(outputs[1].tensor().device().is_host());
}

// Inputs that no node reads, outputs that are inputs or constants, results of the host's nodes and
// of sizes that data decides.
TEST_P(DeviceValuesTest, AllKindsOfValuesMayStay) {
  const char* const model =
      "g (float[n, 4] x, float[2] unused) => (float[n, 4] x, float[2] c, float[n, 4] held, "
      "int64[r, m] places, float[n, 4] y) <float[2] c = {3, 5}, float ratio = {0}, "
      "bool training = {1}> { held = Dropout <seed = 1> (x, ratio, training) places = NonZero (x) "
      "y = Neg (x) }";
  const auto device = SessionThatKeeps({"*"}, "cuda", model);
  const auto host = SessionThatKeeps({}, "cpu", model);
  ASSERT_TRUE(device != nullptr && host != nullptr);
  for (int64_t run = 0; run < 3; ++run) {
    const Session::Inputs inputs = {{"x", Value(Numbers({3, 4}, 16 * run))},
                                    {"unused", Value(Numbers({2}, 0))}};
    const auto got = device->Run(inputs), expected = host->Run(inputs);
    ASSERT_TRUE(got.ok() && expected.ok()) << got.status() << expected.status();
    for (const auto& [name, value] : *expected) {
      EXPECT_FALSE(got->at(name).tensor().device().is_host()) << name;
      EXPECT_EQ(testing::Difference(OnHost(got->at(name)), value.tensor(), 0, 0), "") << name;
    }
  }
}

// A tensor of the device may be given where the model reads it on the host.
TEST_P(DeviceValuesTest, ATensorGoesWhereItIsRead) {
  const char* const model =
      "g (float[a, b] x, int64[2] shape) => (float[c, d] y) { y = Reshape (x, shape) }";
  for (const char* provider : {"cuda", "cpu"}) {
    const auto session = SessionThatKeeps({}, provider, model);
    const Tensor x = Numbers({2, 6}, 1);
    const auto outputs =
        session->Run({{"x", Value(*ToDevice(x, "cuda"))},
                      {"shape", Value(*ToDevice(Tensor::Of<int64_t>({2}, {3, 4}), "cuda"))}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_TRUE(outputs->at("y").tensor().device().is_host());
    EXPECT_TRUE(SameBits(outputs->at("y").tensor(), x.Reshaped({3, 4})));
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, DeviceValuesTest,
                         ::testing::Values(Settings{}, Settings{.order = Order::kLate},
                                           Settings{.order = Order::kRandom, .seed = 1},
                                           Settings{.order = Order::kRandom, .seed = 2}));

TEST(DeviceTensor, GoesThereAndBack) {
  Configure({});
  const Tensor tensor = Numbers({2, 3}, 4);
  const auto moved = ToDevice(tensor, "cuda");
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(DeviceName(moved->device()), "cuda:0");
  EXPECT_EQ(ToDevice(*moved, "cuda")->raw_data(), moved->raw_data());
  EXPECT_EQ(moved->Reshaped({6}).device(), moved->device());
  EXPECT_TRUE(SameBits(*ToHost(*moved), tensor));
  EXPECT_TRUE(SameBits(*ToDevice(*moved, "cpu"), tensor));
  EXPECT_EQ(ToHost(*ToDevice(Numbers({0, 3}, 1), "cuda"))->num_elements(), 0);
}

TEST(DeviceTensor, WhatCannotGoThereIsNamed) {
  Configure({});
  EXPECT_EQ(ToDevice(Tensor(DType::kString, Dims{1}), "cuda").status().message(),
            "strings lie on the host, not on a device");
  Configure({.memory = 1 << 20});
  const absl::Status refused = ToDevice(Numbers({1 << 20}, 1), "cuda").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(refused.message(),
              ::testing::HasSubstr("cuda:0 is out of memory: 4194304 bytes are needed, and 1048576 "
                                   "of its 1048576 are free; smaller inputs or batches need less"));
  Configure({});
  EXPECT_TRUE(ToDevice(Numbers({1 << 20}, 1), "cuda").ok());
}

}  // namespace
}  // namespace onward::emulated_cuda
