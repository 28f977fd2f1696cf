// onward launch on GPUs, one a rank: emulated ones (tests/emulated_cuda), where sums are NCCL's.
#include "tests/cli/emulated_gpus.h"
#include "tests/cli/launch_fixture.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ReadFile;

class LaunchCudaTest : public testing::LaunchTest {
 protected:
  void SetUp() override {
    if (!gpus_.there()) GTEST_SKIP() << "this build has no emulated device";
    LaunchTest::SetUp();
    gpus_.Use("order=late,devices=2");
  }

  std::vector<double> LossesOfOneProcess() {
    const std::string output = directory_.path("one");
    EXPECT_EQ(Call(absl::StrCat("--output-dir ", output, " ", config_, " ", kMore)), 0) << log_;
    return Losses(output);
  }

  static constexpr char kMore[] = "--set batch_size=6 --set data.drop_last=false --set steps=20";
  const std::vector<std::string> cuda_ = {
      "--set",      "batch_size=6", "--set",    "data.drop_last=false", "--set", "steps=20",
      "--provider", "cuda",         "--verbose"};
  testing::EmulatedGpus gpus_;
};

TEST_F(LaunchCudaTest, LossesAreThoseOfOneProcess) {
  const std::vector<double> whole = LossesOfOneProcess();
  for (const char* order : {"eager", "late", "random,seed=7"}) {
    SCOPED_TRACE(order);
    gpus_.Use(absl::StrCat("devices=2,order=", order));
    const std::string output = directory_.path(absl::StrCat("ranks_", order));
    ASSERT_EQ(Launch(2, output, cuda_), 0) << log_;
    ExpectNear(Losses(output), whole);
    EXPECT_THAT(log_, Not(HasSubstr("through the host's memory")));
    EXPECT_THAT(log_, HasSubstr("[onward.AllReduce 'loss/AllReduce']  cuda all_reduce_cuda"));
    EXPECT_THAT(log_, Not(HasSubstr("all_reduce_reference")));
  }
}

TEST_F(LaunchCudaTest, RanksThatShareADeviceSumThroughTheHost) {
  const std::string output = directory_.path("out");
  std::vector<std::string> more = cuda_;
  more[7] = "cuda:1";
  ASSERT_EQ(Launch(2, output, more), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("gradients are summed through the host's memory: ranks 0 and 1 share "
                              "a GPU, and NCCL wants one for each"));
  ExpectNear(Losses(output), LossesOfOneProcess());
}

TEST_F(LaunchCudaTest, WithoutNcclSumsGoThroughTheHost) {
  // A library of that name that is not NCCL comes first.
  const std::string folder = directory_.path("other");
  fs::create_directory(folder);
  std::ofstream(folder + "/libnccl.so.2") << "nothing";
  gpus_.Use("order=late,devices=2", folder);
  const std::string output = directory_.path("out");
  ASSERT_EQ(Launch(2, output, cuda_), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("summed through the host's memory: NCCL cannot be loaded"));
  ExpectNear(Losses(output), LossesOfOneProcess());
}

TEST_F(LaunchCudaTest, ARankWithoutADeviceIsToldSo) {
  gpus_.Use("devices=1");
  EXPECT_EQ(Launch(2, directory_.path("out"), cuda_), 1);
  EXPECT_THAT(log_, HasSubstr("error: rank 1: there is no device cuda:1 here: the last one is "
                              "cuda:0"));
}

TEST_F(LaunchCudaTest, ARankThatIsKilledEndsTheOthers) {
  for (const size_t victim : {0u, 1u}) {
    SCOPED_TRACE(victim);
    const std::string output = directory_.path(absl::StrCat("out", victim)), log = output + ".log";
    const pid_t launcher =
        Start(Arguments(2, output, {"--set", "steps=1000000", "--provider", "cuda"}), log);
    ASSERT_TRUE(Until([&] { return Steps(output) > 30; })) << ReadFile(log);
    const std::vector<pid_t> ranks = RanksOf(launcher);
    ASSERT_EQ(ranks.size(), 2u);
    const auto begin = std::chrono::steady_clock::now();
    kill(ranks[victim], SIGKILL);
    EXPECT_EQ(Await(launcher), 1);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    EXPECT_THAT(ReadFile(log), HasSubstr(absl::StrCat("error: rank ", victim, " (pid ",
                                                      ranks[victim], ", host ")));
    for (const pid_t rank : ranks) EXPECT_FALSE(Runs(rank));
  }
}

}  // namespace
}  // namespace onward
