// onward launch: trainings of several processes.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmath>
#include <csignal>
#include <cstdio>

#include "tests/cli/launch_fixture.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ReadFile;

using testing::LaunchTest;

TEST_F(LaunchTest, LossesAreThoseOfOneProcess) {
  const std::vector<std::string> more = {"--set", "batch_size=6", "--set", "data.drop_last=false"};
  std::string whole = absl::StrCat("--output-dir ", directory_.path("one"), " ", config_);
  for (const std::string& each : more) absl::StrAppend(&whole, " ", each);
  ASSERT_EQ(Call(whole), 0) << log_;
  for (const int ranks : {2, 3}) {
    const std::string output = directory_.path(absl::StrCat("ranks", ranks));
    ASSERT_EQ(Launch(ranks, output, more), 0) << log_;
    ExpectNear(Losses(output), Losses(directory_.path("one")));
    // Rank 0 alone prints and writes.
    EXPECT_THAT(log_, HasSubstr(absl::StrCat(ranks, " ranks train together")));
    EXPECT_EQ(log_.find("the trained model is"), log_.rfind("the trained model is"));
    EXPECT_TRUE(fs::exists(output + "/model.onnx"));
  }
}

TEST_F(LaunchTest, ResumesWithAnyNumberOfRanks) {
  ASSERT_EQ(Launch(2, directory_.path("whole")), 0) << log_;
  const std::string output = directory_.path("out");
  ASSERT_EQ(Launch(2, output, {"--set", "steps=20"}), 0) << log_;
  ASSERT_EQ(Launch(1, output, {"--set", "steps=40", "--resume"}), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("resuming after step 20 of 40"));
  ASSERT_EQ(Launch(3, output, {"--resume"}), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("resuming after step 40 of 60"));
  ExpectNear(Losses(output), Losses(directory_.path("whole")));
}

TEST_F(LaunchTest, ARankThatIsKilledEndsTheOthers) {
  for (const size_t victim : {1u, 0u, 2u}) {
    SCOPED_TRACE(victim);
    const std::string output = directory_.path(absl::StrCat("out", victim)), log = output + ".log";
    const pid_t launcher = Start(
        Arguments(3, output, {"--set", "steps=1000000", "--set", "checkpoint.every_steps=50"}),
        log);
    ASSERT_TRUE(Until([&] { return Steps(output) > 30; }));
    const std::vector<pid_t> ranks = RanksOf(launcher);
    ASSERT_EQ(ranks.size(), 3u);
    const auto begin = std::chrono::steady_clock::now();
    kill(ranks[victim], SIGKILL);
    EXPECT_EQ(Await(launcher), 1);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    const std::string text = ReadFile(log);
    const std::string died =
        absl::StrCat("error: rank ", victim, " (pid ", ranks[victim], ", host ");
    EXPECT_THAT(text, HasSubstr(died));
    EXPECT_EQ(text.find(died), text.rfind(died)) << text;
    EXPECT_THAT(text, HasSubstr(") died in "));
    EXPECT_THAT(text, HasSubstr(absl::StrCat("rank ", victim, " (pid ", ranks[victim],
                                             ") was ended by signal 9 (Killed)")));
    for (const pid_t rank : ranks) EXPECT_FALSE(Runs(rank));
    EXPECT_EQ(Launch(2, output, {"--set", "steps=200", "--resume"}), 0) << log_;
  }
}

TEST_F(LaunchTest, ALauncherThatIsKilledLeavesNoRanks) {
  const std::string output = directory_.path("out");
  const pid_t launcher = Start(Arguments(2, output, {"--set", "steps=1000000"}), output + ".log");
  ASSERT_TRUE(Until([&] { return Steps(output) > 10; }));
  const std::vector<pid_t> ranks = RanksOf(launcher);
  ASSERT_EQ(ranks.size(), 2u);
  kill(launcher, SIGKILL);
  EXPECT_EQ(Await(launcher), -SIGKILL);
  for (const pid_t rank : ranks) EXPECT_TRUE(Until([&] { return !Runs(rank); }));
}

TEST_F(LaunchTest, ASignalToAnyRankSavesOnceAndEndsAll) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    for (const bool to_launcher : {true, false}) {
      SCOPED_TRACE(absl::StrCat(signal, " ", to_launcher));
      const std::string output = directory_.path(absl::StrCat("out", signal, to_launcher));
      const std::string log = output + ".log";
      const pid_t launcher = Start(Arguments(2, output, {"--set", "steps=1000000"}), log);
      ASSERT_TRUE(Until([&] { return Steps(output) > 10; }));
      const std::vector<pid_t> ranks = RanksOf(launcher);
      ASSERT_EQ(ranks.size(), 2u);
      kill(to_launcher ? launcher : ranks[1], signal);
      EXPECT_EQ(Await(launcher), 128 + signal) << ReadFile(log);
      EXPECT_THAT(ReadFile(log), HasSubstr("(interrupted)"));
      EXPECT_TRUE(fs::exists(output + "/model.onnx"));
      const size_t done = Steps(output);
      EXPECT_EQ(Launch(2, output, {"--resume", "--set", absl::StrCat("steps=", done + 1)}), 0)
          << log_;
      EXPECT_THAT(log_, HasSubstr(absl::StrCat("resuming after step ", done, " of ", done + 1)));
    }
  }
}

TEST_F(LaunchTest, ErrorsArePrintedOnce) {
  EXPECT_EQ(Launch(2, directory_.path("out"), {"--set", "optimizer.adamm.lr=1"}), 1);
  EXPECT_EQ(log_.find("error:"), log_.rfind("error:")) << log_;
  EXPECT_THAT(log_, HasSubstr("adamm"));
  EXPECT_EQ(Onward("launch --nproc 2 -- run model.onnx"), 2);
  EXPECT_THAT(log_, HasSubstr("launch takes `train`"));
}

// As torchrun starts them: nobody told rank 0 its port, and the agent has MASTER_PORT.
class RankCommands : public LaunchTest {
 protected:
  // The port before a free one, which listens.
  int TakePort() {
    for (int port = 20000 + getpid() % 20000;; port += 2) {
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(static_cast<uint16_t>(port));
      agent_ = socket(AF_INET, SOCK_STREAM, 0);
      if (bind(agent_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
          listen(agent_, 1) == 0)
        return port;
      close(agent_);
    }
  }
  void TearDown() override {
    if (agent_ >= 0) close(agent_);
  }
  pid_t StartRank(int rank, int port, const std::string& output,
                  const std::vector<std::string>& more = {}) {
    for (const auto& [name, value] :
         {std::pair("RANK", rank), {"LOCAL_RANK", rank}, {"WORLD_SIZE", 2}, {"MASTER_PORT", port}})
      setenv(name, absl::StrCat(value).c_str(), 1);
    setenv("MASTER_ADDR", "localhost", 1);
    std::vector<std::string> arguments = {"train", config_, "--output-dir", output};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const pid_t pid = Start(arguments, absl::StrCat(output, ".", rank, ".log"));
    for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT", "MASTER_ADDR"})
      unsetenv(name);
    return pid;
  }

  int agent_ = -1;
};

TEST_F(RankCommands, TorchrunsVariablesAreTaken) {
  const std::string output = directory_.path("out");
  const int port = TakePort();
  const pid_t first = StartRank(0, port, output), second = StartRank(1, port, output);
  EXPECT_EQ(Await(second), 0) << ReadFile(output + ".1.log");
  EXPECT_EQ(Await(first), 0) << ReadFile(output + ".0.log");
  EXPECT_EQ(ReadFile(output + ".1.log"), "");
  EXPECT_EQ(Steps(output), 60u);
}

TEST_F(RankCommands, RanksOfOtherModelsAreRefused) {
  const std::string output = directory_.path("out");
  const int port = TakePort();
  const pid_t first = StartRank(0, port, output),
              second = StartRank(1, port, output, {"--set", "built.options.hidden=9"});
  EXPECT_EQ(Await(second), 1);
  EXPECT_EQ(Await(first), 1);
  EXPECT_THAT(ReadFile(output + ".0.log"),
              HasSubstr("error: the configuration of rank 1 differs from that of rank 0"));
}

TEST_F(RankCommands, AVariableThatIsMissingIsNamed) {
  setenv("RANK", "1", 1);
  setenv("WORLD_SIZE", "two", 1);
  EXPECT_EQ(Call(config_ + " --output-dir " + directory_.path("out")), 1);
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  EXPECT_THAT(log_, HasSubstr("the environment variable WORLD_SIZE is 'two'"));
}

}  // namespace
}  // namespace onward
