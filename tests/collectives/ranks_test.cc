// How a process learns from its environment which rank it is.
#include "onward/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace onward::collectives {
namespace {

using ::testing::HasSubstr;

class RankOptionsTest : public ::testing::Test {
 protected:
  ~RankOptionsTest() override { Set({}); }
  static void Set(const std::map<std::string, std::string>& variables) {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "ONWARD_MASTER_PORT"})
      unsetenv(name);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  static std::string Error() {
    const auto options = RankOptionsOfEnvironment();
    return options.ok() ? "OK" : std::string(options.status().message());
  }
};

TEST_F(RankOptionsTest, AreTorchruns) {
  Set({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.7"}, {"MASTER_PORT", "29500"}});
  auto options = RankOptionsOfEnvironment();
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->rank, 2);
  EXPECT_EQ(options->size, 4);
  EXPECT_EQ(options->address, "10.0.0.7");
  EXPECT_EQ(options->port, 29501);  // torchrun's agent listens on its own
  setenv("ONWARD_MASTER_PORT", "31000", 1);
  options = RankOptionsOfEnvironment();
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->port, 31000);
}

TEST_F(RankOptionsTest, OneProcessIsAlone) {
  for (const std::map<std::string, std::string>& variables :
       {std::map<std::string, std::string>{}, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}}) {
    Set(variables);
    const auto joined = JoinRanks();
    ASSERT_TRUE(joined.ok()) << joined.status();
    EXPECT_EQ(*joined, nullptr);
  }
}

TEST_F(RankOptionsTest, ErrorsNameTheVariable) {
  Set({{"RANK", "1"}});
  EXPECT_THAT(Error(), HasSubstr("WORLD_SIZE is not set"));
  Set({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}});
  EXPECT_THAT(Error(), HasSubstr("RANK is '2', must be a number from 0 to 1"));
  Set({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_THAT(Error(), HasSubstr("MASTER_PORT is not set"));
}

}  // namespace
}  // namespace onward::collectives
