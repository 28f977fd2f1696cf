// The kernels of optimizers' steps find settings where the steps' ops have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "graph/optimizers/optimizer_entry.h"
#include "kernels/optimizer_steps.h"

namespace onward::kernels {
namespace {

TEST(OptimizerSettings, AreThoseOfTheEntries) {
  std::map<std::string, std::vector<std::string_view>> of_kernels;
  for (const StepSettings& step : kStepSettings)
    of_kernels[std::string(step.op)] = {step.names, step.names + step.count};
  for (const OptimizerEntry& entry : Optimizers()) {
    SCOPED_TRACE(std::string(entry.name));
    ASSERT_EQ(of_kernels.count(entry.op_type()), 1u);
    std::vector<std::string_view> names;
    for (const OptimizerSetting& setting : entry.settings) names.push_back(setting.name);
    EXPECT_THAT(of_kernels.at(entry.op_type()), ::testing::ElementsAreArray(names));
  }
}

}  // namespace
}  // namespace onward::kernels
