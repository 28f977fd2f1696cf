// Memory of models that share a limit: what one keeps for coming requests is given up for another,
// and given back when nobody asks any more.
#include "serving/idle_timer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "serving/server.h"
#include "tests/serving/client.h"
#include "tests/support/text_model.h"

namespace onward::serving {
namespace {

using Clock = std::chrono::steady_clock;
using onward::testing::Client;

constexpr int64_t kBytes = int64_t{4} << 20;  // in which a run computes

std::shared_ptr<ServedModel> Model(const std::string& name, std::shared_ptr<MemoryLimit> memory) {
  auto model = onward::testing::ModelFromText(
      "g (float[1024, 1] x) => (float y) <int64[2] turned = {1, 1024}> { r = Reshape (x, turned) "
      "p = MatMul (x, r) y = ReduceMax <keepdims = 0> (p) }");
  EXPECT_TRUE(model.ok()) << model.status();
  SessionOptions options;
  options.num_threads = 1;
  options.memory = std::move(memory);
  auto session = Session::Create(*std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status();
  auto served = ServedModel::Create(name, *std::move(session));
  EXPECT_TRUE(served.ok()) << served.status();
  return *std::move(served);
}

std::string Body() {
  std::string data = "2";
  for (int i = 1; i < 1024; ++i) data += ",2";
  return R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1024,1],"data":[)" + data + "]}]}";
}

TEST(IdleTimerTest, ModelsTakeTurnsInMemoryThatHoldsOneOfThem) {
  const auto memory = std::make_shared<MemoryLimit>(kBytes * 3 / 2);
  ServerOptions options;
  options.address.port = 0;
  auto server = Server::Start({Model("first", memory), Model("second", memory)}, options);
  ASSERT_TRUE(server.ok()) << server.status();
  Client client((*server)->port());
  const std::string body = Body();
  for (int turn = 0; turn < 4; ++turn) {
    for (const char* name : {"first", "second"}) {
      const auto reply = client.Ask("POST", std::string("/v2/models/") + name + "/infer", body);
      ASSERT_EQ(reply.status, 200) << reply.body;
      EXPECT_NE(reply.body.find(R"("data":[4)"), std::string::npos) << reply.body;
    }
  }
  EXPECT_GE(memory->used(), kBytes);
}

TEST(IdleTimerTest, MemoryOfUnusedModelsIsGivenBack) {
  const auto memory = std::make_shared<MemoryLimit>(int64_t{1} << 30);
  ModelRepository models;
  const std::shared_ptr<ServedModel> model = Model("model", memory);
  ASSERT_TRUE(models.Add(model).ok());
  Tensor x(DType::kFloat32, {1024, 1});
  std::fill_n(x.mutable_data<float>(), 1024, 2.0f);
  const Session::Inputs inputs = {{"x", Value(x)}};
  const Clock::time_point before = Clock::now();
  ASSERT_TRUE(model->Run(inputs, {}).ok());
  ReleaseIdle(models, before, Clock::now());
  EXPECT_GE(memory->used(), kBytes);
  ReleaseIdle(models, Clock::now() + std::chrono::seconds(1), Clock::now());
  EXPECT_LT(memory->used(), kBytes);
  EXPECT_TRUE(model->Run(inputs, {}).ok());
}

TEST(IdleTimerTest, EndsWithoutWaitingForItsPeriod) {
  const ModelRepository models;
  const IdleTimer timer(models, std::chrono::hours(1), std::chrono::hours(1));
}

}  // namespace
}  // namespace onward::serving
