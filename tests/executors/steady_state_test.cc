// After a first run with equal shapes, a run allocates nothing and touches no new page.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "onward/session.h"
#include "tests/support/allocations.h"

namespace onward::executors {
namespace {

TEST(SteadyState, NoAllocationAndNoPageFault) {
  if (!testing::kCountsAllocations) GTEST_SKIP() << "the sanitizer has its own malloc";
  for (int threads : {1, 3}) {
    SessionOptions options;
    options.num_threads = threads;
    const auto session =
        Session::Load(std::string(ONWARD_SOURCE_DIR) + "/examples/mnist/mnist-8.onnx", options);
    ASSERT_TRUE(session.ok()) << session.status();
    Tensor image(DType::kFloat32, {1, 1, 28, 28});
    for (int64_t i = 0; i < image.num_elements(); ++i)
      image.mutable_data<float>()[i] = static_cast<float>(i % 256);
    const std::vector<Value> inputs = {image};
    std::vector<Value> outputs(1);
    // A worker that the scheduler kept from every run so far touches its stack late, so the steady
    // state is reached after a few rounds, not at a fixed run. Allocations stop after the first
    // run.
    ASSERT_TRUE((*session)->Run(inputs, absl::MakeSpan(outputs)).ok());
    bool ok = true;
    int64_t allocated = 0, faults = 1;
    for (int round = 0; round < 20 && faults > 0; ++round) {
      rusage before, after;
      getrusage(RUSAGE_SELF, &before);
      const int64_t allocated_before = testing::Allocations();
      for (int i = 0; i < 100; ++i) ok &= (*session)->Run(inputs, absl::MakeSpan(outputs)).ok();
      allocated += testing::Allocations() - allocated_before;
      getrusage(RUSAGE_SELF, &after);
      faults = after.ru_minflt - before.ru_minflt + after.ru_majflt - before.ru_majflt;
    }
    EXPECT_TRUE(ok);
    EXPECT_EQ(allocated, 0) << threads << " threads";
    EXPECT_EQ(faults, 0) << threads << " threads";
  }
}

}  // namespace
}  // namespace onward::executors
