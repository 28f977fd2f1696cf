// Memory runs out while a model is loaded, at one allocation after the other: the load succeeds or
// is refused, and models are served afterwards.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <thread>

#include "onward/memory_limit.h"
#include "serving/memory_reserve.h"
#include "tests/serving/failing_memory.h"
#include "tests/serving/repository_fixture.h"

namespace onward::testing {
namespace {

class LoadMemoryTest : public RepositoryTest {
 protected:
  void TearDown() override { std::set_new_handler(nullptr); }
  // Returns whether an allocation failed.
  bool FailAt(int number) {
    const std::string what = absl::StrCat("allocation ", number);
    Client client(server_->port());
    FailElsewhere(number, /*all=*/false);
    const Reply reply = client.Ask("POST", "/v2/repository/models/model/load", "",
                                   "Authorization: Bearer key-of-an-administrator\r\n");
    const bool failed = StopFailing();
    serving::RefillMemoryReserve();
    EXPECT_TRUE(reply.status == 200 || reply.status == 503 || reply.status == 0)
        << what << ": " << reply.status << " " << reply.body;
    EXPECT_EQ(Infer("/v2/models/model").first, 3) << what;
    return failed;
  }
};

TEST_F(LoadMemoryTest, ALoadThatFailsLeavesTheModel) {
  directory_.Write("model/1/model.onnx", Times(3));
  serving::KeepMemoryReserve();
  StartDirectory();
  std::mt19937 draw(7);
  int number = 0, tried = 0;
  // Each of the first ones, then ever fewer.
  while (FailAt(number) && !HasFailure()) {
    ++tried;
    number += number < 100 ? 1 : std::uniform_int_distribution<>(1, number / 50)(draw);
  }
  EXPECT_GT(tried, 100);
}

TEST(LoadMemory, OfASessionThatWouldGiveMemoryBack) {
  for (int number = 0; number < 10; ++number) {
    MemoryLimit limit(100);
    std::shared_ptr<void> registered;
    int calls = 0;
    FailHere(number, /*all=*/false);
    try {
      registered = limit.OnShortage([&calls] { ++calls; });
    } catch (const std::bad_alloc&) {
    }
    StopFailing();
    EXPECT_TRUE(limit.Take(90).ok());
    EXPECT_FALSE(limit.Take(90).ok());
    EXPECT_EQ(calls, registered.use_count()) << number;  // it points to nothing
  }
}

// There is none from one allocation on, for a while, and no reserve either.
class NoMemoryForLoadsTest : public RepositoryTest {
 protected:
  // Returns whether an allocation failed while the model `name` was loaded.
  bool FailFrom(int number, const std::string& name) {
    const std::string what = absl::StrCat("allocation ", number, " and all later");
    Client client(server_->port());
    FailElsewhere(number, /*all=*/true);
    client.Send(absl::StrCat("POST /v2/repository/models/", name,
                             "/load HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n"
                             "Authorization: Bearer key-of-an-administrator\r\n\r\n"));
    for (int i = 0; i < 2000 && !HasFailed(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const bool failed = StopFailing();
    const Reply reply = client.Read();
    EXPECT_TRUE(reply.status == 200 || reply.status == 503 || reply.status == 0)
        << what << ": " << reply.status << " " << reply.body;
    EXPECT_EQ(Infer("/v2/models/model").first, 3) << what;
    return failed;
  }
  // From each of the first allocations, then from ever fewer; with ONWARD_EACH_ALLOCATION from
  // each.
  void FailFromEach(const std::string& name) {
    std::mt19937 draw(7);
    const int first = std::getenv("ONWARD_EACH_ALLOCATION") != nullptr ? 1'000'000 : 300;
    int number = 0, tried = 0;
    while (FailFrom(number, name) && !HasFailure()) {
      ++tried;
      number += number < first ? 1 : std::uniform_int_distribution<>(1, number / 30)(draw);
    }
    std::printf("%d of %d allocations failed\n", tried, number);
    EXPECT_GT(tried, 300);
    Ask("POST", absl::StrCat("/v2/repository/models/", name, "/load"), "", 200);
  }
};

TEST_F(NoMemoryForLoadsTest, OfASmallModel) {
  directory_.Write("model/1/model.onnx", Times(3));
  StartDirectory();
  FailFromEach("model");
}

// With graphs in it, a function, and weights that are packed.
TEST_F(NoMemoryForLoadsTest, OfAModelOfManyKinds) {
  directory_.Write("model/1/model.onnx", Times(3));
  directory_.Write("other/config.pbtxt",
                   "max_batch_size: 8 output [ { name: \"z\" label_filename: \"labels\" } ] "
                   "dynamic_batching { priority_levels: 3 }");
  directory_.Write("other/labels", "a\nb\n");
  directory_.Write("other/1/model.onnx", ProtoFromText(R"(
      <ir_version: 10, opset_import: ["" : 21, "own" : 1]>
      g (float[n, 2] x) => (float[n, 2] z)
      <float[2, 2] w = {1, 2, 3, 4}, float[2] b = {1, 2}, bool c = {1}, int64 two = {2}> {
        m = MatMul(x, w)
        s = Add(m, b)
        r = Relu(s)
        t = own.Twice(r)
        u = If (c) <
          then_branch = yes () => (float[k, 2] v) { v = Softmax(t) },
          else_branch = no () => (float[k, 2] v) { v = LayerNormalization(t, b) }
        >
        z = Loop (two, , u) <
          body = turn (int64 i, bool on, float[k, 2] before) => (bool go, float[k, 2] after) {
            go = Identity(on)
            after = Gelu(before)
          }
        >
      }
      <domain: "own", opset_import: ["" : 21]>
      Twice (p) => (q) { q = Add(p, p) }
  )")
                                             .SerializeAsString());
  StartDirectory();
  FailFromEach("other");
}

}  // namespace
}  // namespace onward::testing
