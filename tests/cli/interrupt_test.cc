// SIGINT, SIGTERM and SIGHUP to onward train and to other commands.
#include <algorithm>
#include <csignal>

#include "tests/cli/train_fixture.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::Metrics;
using testing::ReadFile;
using testing::TrainCommandTest;

class InterruptTest : public TrainCommandTest {
 protected:
  std::vector<std::string> Arguments(const std::string& output) const {
    return {"train", config_, "--output-dir", output, "--set", "checkpoint.every_steps=1000000"};
  }
  static int64_t Steps(const std::string& output) {
    std::ifstream file(output + "/metrics.jsonl");
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  }
};

TEST_F(InterruptTest, EachSavesAndResumesBitForBit) {
  const std::vector<std::string> more = {"--set", "steps=3000", "--set",
                                         "evaluation.every_steps=500"};
  const auto with = [&](const std::string& output) {
    std::vector<std::string> arguments = Arguments(output);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const std::string whole = directory_.path("whole");
  ASSERT_EQ(Await(Start(with(whole))), 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(signal);
    const std::string output = directory_.path(absl::StrCat("cut", signal));
    const std::string log = output + ".log";
    const pid_t child = Start(with(output), log);
    ASSERT_TRUE(Until([&] { return Steps(output) > 300; }));
    kill(child, signal);
    EXPECT_EQ(Await(child), 128 + signal) << ReadFile(log);
    EXPECT_THAT(ReadFile(log), HasSubstr("interrupted: the training ends"));
    const int64_t steps = Metrics(output).back()["step"];
    EXPECT_LT(steps, 3000);
    EXPECT_TRUE(fs::exists(output + "/model.onnx"));
    std::vector<std::string> arguments = with(output);
    arguments.emplace_back("--resume");
    EXPECT_EQ(Await(Start(arguments, log)), 0) << ReadFile(log);
    EXPECT_THAT(ReadFile(log), HasSubstr(absl::StrCat("resuming after step ", steps, " of 3000")));
    EXPECT_EQ(ReadFile(output + "/model.onnx"), ReadFile(whole + "/model.onnx"));
  }
}

// Where the first cannot save yet, as its directory is gone.
TEST_F(InterruptTest, TheSecondEndsAtOnce) {
  const std::string output = directory_.path("out"), log = directory_.path("log");
  std::vector<std::string> arguments = Arguments(output);
  arguments.insert(arguments.end(),
                   {"--set", "steps=1000000", "--set", "checkpoint.wait_seconds=600"});
  const pid_t child = Start(arguments, log);
  ASSERT_TRUE(Until([&] { return Steps(output) > 10; }));
  fs::rename(output, directory_.path("moved"));
  directory_.Write("out", "a file");
  kill(child, SIGTERM);
  ASSERT_TRUE(
      Until([&] { return ReadFile(log).find("trying again for 600 s") != std::string::npos; }));
  kill(child, SIGTERM);
  EXPECT_EQ(Await(child), 128 + SIGTERM);
}

// nohup's hangup does not reach the training.
TEST_F(InterruptTest, AHangupThatIsIgnoredStaysSo) {
  const std::string output = directory_.path("out");
  ASSERT_NE(std::signal(SIGHUP, SIG_IGN), SIG_ERR);
  std::vector<std::string> arguments = Arguments(output);
  arguments.insert(arguments.end(), {"--set", "steps=1000000"});
  const pid_t child = Start(arguments);
  std::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(Until([&] { return Steps(output) > 10; }));
  kill(child, SIGHUP);
  const int64_t steps = Steps(output);
  EXPECT_TRUE(Until([&] { return Steps(output) > steps + 100; }));
  kill(child, SIGTERM);
  EXPECT_EQ(Await(child), 128 + SIGTERM);
}

// Ctrl-C ends the reader of the log too: `onward train ... | tee log`.
TEST_F(InterruptTest, APipeWithoutReaderLosesNothing) {
  const std::string output = directory_.path("out");
  const std::string command =
      absl::StrCat("sh -c '", ONWARD_PROGRAM, " train ", config_, " --output-dir ", output,
                   " --set steps=100 --set evaluation.every_steps=10 2>&1; echo $? >",
                   directory_.path("code"), "' | head -c 10 >/dev/null");
  ASSERT_EQ(std::system(command.c_str()), 0);
  ASSERT_TRUE(Until([&] { return !ReadFile(directory_.path("code")).empty(); }));
  EXPECT_EQ(ReadFile(directory_.path("code")), "0\n");
  EXPECT_TRUE(fs::exists(output + "/model.onnx"));
}

TEST_F(InterruptTest, OtherCommandsEndWithTheSignalsCode) {
  const std::string output = directory_.path("out");
  ASSERT_EQ(Call(absl::StrCat(config_, " --set steps=1 --output-dir ", output)), 0) << log_;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child =
        Start({"bench", output + "/model.onnx", "--shape", "image=1x1x28x28", "--duration", "100"});
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(child, signal);
    EXPECT_EQ(Await(child), 128 + signal);
  }
}

}  // namespace
}  // namespace onward
