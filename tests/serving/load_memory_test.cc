// Memory runs out while a model is loaded, at one allocation after the other: with what the server
// keeps in reserve the load succeeds or is refused, and the model is served afterwards.
#include <new>
#include <random>

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

}  // namespace
}  // namespace onward::testing
