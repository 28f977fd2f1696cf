// Trainings of several processes, by `onward launch`.
#pragma once

#include <csignal>

#include "collectives/gloo.h"
#include "tests/cli/train_fixture.h"

namespace onward::testing {

class LaunchTest : public TrainCommandTest {
 protected:
  void SetUp() override {
    if (!collectives::HasGloo()) GTEST_SKIP() << "this build has no Gloo";
    TrainCommandTest::SetUp();
  }

  std::vector<std::string> Arguments(int ranks, const std::string& output,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"launch", "--nproc", absl::StrCat(ranks), "--",
                                          "train",  config_,   "--output-dir",      output};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  int Launch(int ranks, const std::string& output, const std::vector<std::string>& more = {}) {
    const std::string log = output + ".log";
    const int code = Await(Start(Arguments(ranks, output, more), log));
    log_ = ReadFile(log);
    return code;
  }

  static std::vector<double> Losses(const std::string& output) {
    std::vector<double> losses;
    for (const nlohmann::json& line : Metrics(output))
      if (line.contains("loss")) losses.push_back(line["loss"]);
    return losses;
  }
  static void ExpectNear(const std::vector<double>& got, const std::vector<double>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-4) << "step " << i;
  }

  // Processes whose parent was the launcher, by the number of the rank.
  static std::vector<pid_t> RanksOf(pid_t launcher) {
    std::ifstream file(absl::StrCat("/proc/", launcher, "/task/", launcher, "/children"));
    return {std::istream_iterator<pid_t>(file), {}};
  }
  static bool Runs(pid_t pid) { return kill(pid, 0) == 0; }
  static size_t Steps(const std::string& output) { return Losses(output).size(); }
};

}  // namespace onward::testing
