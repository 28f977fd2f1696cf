#include "onward/communicator.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "collectives/gloo.h"
#include "collectives/in_process.h"

namespace onward::collectives {
namespace {

TensorView ViewOf(Tensor& tensor) { return tensor.view(); }

using Ranks = std::vector<std::unique_ptr<Communicator>>;

// A port that is free now.
int FreePort() {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listening, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(listening);
  return ntohs(address.sin_port);
}

// Each rank's work in a thread of its own.
void InThreads(Ranks ranks, const std::function<void(Communicator&)>& work) {
  std::vector<std::thread> threads;
  for (auto& rank : ranks) threads.emplace_back([&work, end = std::move(rank)] { work(*end); });
  for (std::thread& thread : threads) thread.join();
}

Ranks GlooRanks(int size) {
  const int port = FreePort();
  Ranks ranks(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      RankOptions options;
      options.rank = rank;
      options.size = size;
      options.port = port;
      auto joined = JoinGloo(options);
      ASSERT_TRUE(joined.ok()) << joined.status();
      ranks[static_cast<size_t>(rank)] = *std::move(joined);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

struct Engine {
  const char* name;
  Ranks (*make)(int size);
};

class Engines : public testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    if (GetParam().make == GlooRanks && !HasGloo()) GTEST_SKIP() << "this build has no Gloo";
  }
};

TEST_P(Engines, AddUpEveryDType) {
  InThreads(GetParam().make(3), [](Communicator& ranks) {
    const auto own = static_cast<float>(ranks.rank() + 1);
    Tensor floats = Tensor::Of<float>({3}, {own, 10 * own, -own});
    ASSERT_TRUE(ranks.AllReduce(ViewOf(floats)).ok());
    EXPECT_EQ(floats.span<float>(), absl::MakeConstSpan({6.0f, 60.0f, -6.0f}));
    Tensor doubles = Tensor::Of<double>({1}, {0.5 * own});
    ASSERT_TRUE(ranks.AllReduce(ViewOf(doubles)).ok());
    EXPECT_EQ(doubles.data<double>()[0], 3.0);
    Tensor halves = Tensor::Of<BFloat16>({2}, {BFloat16(own), BFloat16(0.5f)});
    ASSERT_TRUE(ranks.AllReduce(ViewOf(halves)).ok());
    EXPECT_EQ(static_cast<float>(halves.data<BFloat16>()[0]), 6.0f);
    EXPECT_EQ(static_cast<float>(halves.data<BFloat16>()[1]), 1.5f);
    Tensor integers = Tensor::Of<int64_t>({1}, {int64_t{1} << (40 + ranks.rank())});
    ASSERT_TRUE(ranks.AllReduce(ViewOf(integers)).ok());
    EXPECT_EQ(integers.data<int64_t>()[0], int64_t{7} << 40);
    Tensor empty(DType::kFloat32, {0, 4});
    EXPECT_TRUE(ranks.AllReduce(ViewOf(empty)).ok());
  });
}

TEST_P(Engines, GiveAllRanksTheSameBits) {
  constexpr int64_t kCount = 300001;  // more than a segment, in parts of no equal size
  std::vector<std::vector<float>> results(3);
  InThreads(GetParam().make(3), [&](Communicator& ranks) {
    Tensor values(DType::kFloat32, {kCount});
    for (int64_t i = 0; i < kCount; ++i)
      values.mutable_data<float>()[i] = 1.0f / static_cast<float>(i + 1 + 7 * ranks.rank());
    ASSERT_TRUE(ranks.AllReduce(ViewOf(values)).ok());
    const auto sums = values.span<float>();
    results[static_cast<size_t>(ranks.rank())].assign(sums.begin(), sums.end());
  });
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  for (int64_t i = 0; i < kCount; i += 1000) {
    const double x = static_cast<double>(i);
    EXPECT_NEAR(results[0][static_cast<size_t>(i)], 1 / (x + 1) + 1 / (x + 8) + 1 / (x + 15), 1e-6);
  }
}

TEST_P(Engines, BroadcastAndGather) {
  InThreads(GetParam().make(3), [](Communicator& ranks) {
    Tensor flags = Tensor::Of<bool>({2}, {ranks.rank() == 2, false});
    ASSERT_TRUE(ranks.Broadcast(ViewOf(flags), 2).ok());
    EXPECT_TRUE(flags.data<bool>()[0]);
    const auto numbers = AllGather(ranks, 10.0 * ranks.rank());
    ASSERT_TRUE(numbers.ok());
    EXPECT_EQ(*numbers, (std::vector<double>{0, 10, 20}));
    EXPECT_TRUE(ranks.Barrier().ok());
  });
}

TEST_P(Engines, AgreeOrSayWhoDiffers) {
  InThreads(GetParam().make(3), [](Communicator& ranks) {
    EXPECT_TRUE(Agree(ranks, "the seed", "7").ok());
    const absl::Status differs = Agree(ranks, "the batch", ranks.rank() == 1 ? "5" : "4");
    EXPECT_EQ(differs.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(differs.message(), "the batch of rank 1 differs from that of rank 0");
    EXPECT_TRUE(ranks.Barrier().ok());  // nothing is broken
  });
}

TEST_P(Engines, RefuseDTypesWithoutSum) {
  InThreads(GetParam().make(2), [](Communicator& ranks) {
    Tensor flags = Tensor::Of<bool>({1}, {true});
    const absl::Status refused = ranks.AllReduce(ViewOf(flags));
    EXPECT_EQ(refused.message(), "tensors of bool cannot be summed");
    EXPECT_TRUE(ranks.Barrier().ok());
  });
}

TEST_P(Engines, SayWhichRankEndedAndWhen) {
  InThreads(GetParam().make(3), [](Communicator& ranks) {
    ranks.set_activity("step 37");
    ASSERT_TRUE(ranks.Barrier().ok());
    if (ranks.rank() == 1) return;
    const absl::Status gone = ranks.Barrier();
    EXPECT_EQ(gone.code(), absl::StatusCode::kAborted) << gone;
    EXPECT_GT(ranks.WaitForLostRank(std::chrono::seconds(1)), 0);
    EXPECT_TRUE(absl::StartsWith(gone.message(), "rank ")) << gone;
    EXPECT_TRUE(absl::EndsWith(gone.message(), " in step 37")) << gone;
    EXPECT_EQ(ranks.Barrier(), gone);
    EXPECT_EQ(ranks.status(), gone);
  });
}

// Ranks that write while others end: a broken connection is an error, never a signal.
TEST_P(Engines, OutliveRanksThatEndInTheMiddle) {
  for (int round = 0; round < 20; ++round) {
    InThreads(GetParam().make(3), [round](Communicator& ranks) {
      Tensor values(DType::kFloat32, {1 << 18});
      ASSERT_TRUE(ranks.Barrier().ok());
      if (ranks.rank() == round % 3) return;
      const absl::Status gone = ranks.AllReduce(ViewOf(values));
      EXPECT_EQ(gone.code(), absl::StatusCode::kAborted) << gone;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, Engines,
                         testing::Values(Engine{"in_process", InProcessRanks},
                                         Engine{"gloo", GlooRanks}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(InProcess, TensorsOfOtherSizesAreAnError) {
  InThreads(InProcessRanks(2), [](Communicator& ranks) {
    Tensor values(DType::kFloat32, {4 + ranks.rank()});
    const absl::Status differs = ranks.AllReduce(ViewOf(values));
    EXPECT_EQ(differs.message(), "rank 0 adds up 4 of float32, rank 1 adds up 5 of float32");
  });
}

// A process that is killed says nothing: its connection does.
TEST(Gloo, NamesTheProcessThatWasKilled) {
  if (!HasGloo()) GTEST_SKIP() << "this build has no Gloo";
  const int port = FreePort();
  const auto join = [port](int rank) {
    RankOptions options;
    options.rank = rank;
    options.size = 2;
    options.port = port;
    return JoinGloo(options);
  };
  const pid_t child = fork();
  if (child == 0) {
    auto ranks = join(1);
    if (!ranks.ok() || !(*ranks)->Barrier().ok()) _exit(1);
    raise(SIGKILL);
  }
  auto ranks = join(0);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  (*ranks)->set_activity("step 2");
  ASSERT_TRUE((*ranks)->Barrier().ok());
  const absl::Status died = (*ranks)->Barrier();
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_TRUE(WIFSIGNALED(ended));
  EXPECT_TRUE(absl::StartsWith(died.message(), absl::StrCat("rank 1 (pid ", child, ", host ")))
      << died;
  EXPECT_TRUE(absl::EndsWith(died.message(), ") died in step 2")) << died;
  EXPECT_EQ((*ranks)->WaitForLostRank(std::chrono::seconds(1)), 1);
}

TEST(Gloo, SaysWhichRankIsLate) {
  if (!HasGloo()) GTEST_SKIP() << "this build has no Gloo";
  RankOptions options;
  options.size = 3;
  options.port = FreePort();
  options.patience = std::chrono::seconds(1);
  const auto joined = JoinGloo(options);
  EXPECT_EQ(joined.status().message(), "rank 1, 2 did not connect within 1 s");
}

TEST(Gloo, RefusesAnotherWorldSize) {
  if (!HasGloo()) GTEST_SKIP() << "this build has no Gloo";
  RankOptions options;
  options.size = 2;
  options.port = FreePort();
  std::thread other([options]() mutable {
    options.rank = 1;
    options.size = 3;
    EXPECT_FALSE(JoinGloo(options).ok());
  });
  const auto joined = JoinGloo(options);
  EXPECT_TRUE(absl::StartsWith(joined.status().message(), "rank 1 of 3 connected to rank 0 of 2"))
      << joined.status();
  other.join();
}

}  // namespace
}  // namespace onward::collectives
