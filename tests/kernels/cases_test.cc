// Every case of every family through every CPU kernel that takes it, on one and on several threads.
#include "tests/cases/cases.h"

#include <gtest/gtest.h>

#include "kernels/cpu/targets.h"
#include "tests/support/kernel_runner.h"

namespace onward::kernels {
namespace {

TEST(Cases, EveryCpuKernelGivesTheExpectedValues) {
  for (const cases::OpCase& c : cases::AllCases()) {
    int ran = 0;
    for (const auto& [entry, target] : testing::KernelsPerTarget(c)) {
      KernelOptions options;
      options.cpu_targets = target;
      for (int threads : {1, 3}) {
        for (uint64_t constants : {uint64_t{0}, ~uint64_t{0}}) {
          SCOPED_TRACE(c.op + " " + c.name + " " + std::string(entry.name) + " " +
                       cpu::TargetNames(target));
          const auto results = testing::RunKernel(entry, c, threads, constants, options);
          if (results.status().code() == absl::StatusCode::kUnimplemented) continue;
          ASSERT_TRUE(results.ok()) << results.status();
          ++ran;
          for (size_t i = 0; i < results->size(); ++i) {
            if (c.expected[i].empty()) continue;
            EXPECT_EQ(testing::Difference((*results)[i], c.expected[i], c.rtol, c.atol), "")
                << "output " << i;
          }
        }
      }
    }
    EXPECT_GT(ran, 0) << "no kernel takes " << c.op << " " << c.name;
  }
}

}  // namespace
}  // namespace onward::kernels
