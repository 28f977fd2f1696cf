// Every call to the system that writing a checkpoint makes fails once: the earlier checkpoint stays
// and the training is told. The program's own definitions of these calls stand before the C
// library's.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_directory.h"
#include "training/checkpoint/checkpoint.h"
#include "training/checkpoint/checkpoint_writer.h"

namespace {

// Counts down to the call that fails; negative: none does.
std::atomic<int> calls_left = -1;
std::atomic<int> calls = 0;
std::atomic<int> reason = EIO;

bool Fails() {
  ++calls;
  return calls_left >= 0 && calls_left-- == 0;
}

// What the system's calls return.
long Answer(long number, long a, long b, long c) {
  if (!Fails()) return syscall(number, a, b, c);
  errno = reason;
  return -1;
}

}  // namespace

extern "C" {
int fsync(int descriptor) { return static_cast<int>(Answer(SYS_fsync, descriptor, 0, 0)); }
int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(
      Answer(SYS_rename, reinterpret_cast<long>(from), reinterpret_cast<long>(to), 0));
}
int mkdir(const char* path, mode_t mode) noexcept {
  return static_cast<int>(Answer(SYS_mkdir, reinterpret_cast<long>(path), mode, 0));
}
}

namespace onward::training {
namespace {

TrainingState State(int64_t step) {
  TrainingState state;
  state.step = step;
  state.tensors["w"] = Tensor::Of<int64_t>({1}, {step});
  return state;
}

TEST(FailingCallsTest, EachLeavesAGoodCheckpoint) {
  const testing::ScratchDirectory scratch;
  auto writer = CheckpointWriter::Open({.directory = scratch.path("c"), .keep = 1});
  ASSERT_TRUE(writer.ok()) << writer.status();
  calls = 0;
  ASSERT_TRUE((*writer)->Save(State(1)).ok());
  ASSERT_TRUE((*writer)->Wait().ok());
  const int needed = calls;
  EXPECT_GE(needed, 8);  // a directory, two files and two directories made durable, three names
  int64_t step = 1;
  for (int failing = 0; failing < needed + 2; ++failing) {
    calls_left = failing;
    ASSERT_TRUE((*writer)->Save(State(step + 1)).ok());
    const absl::Status status = (*writer)->Wait();
    calls_left = -1;
    const auto loaded = LoadNewestCheckpoint(scratch.path("c"));
    ASSERT_TRUE(loaded.ok()) << "call " << failing << ": " << loaded.status();
    EXPECT_TRUE(loaded->damaged.empty()) << failing;
    EXPECT_TRUE(loaded->state.step == step || loaded->state.step == step + 1) << failing;
    EXPECT_EQ(loaded->state.tensors.at("w").data<int64_t>()[0], loaded->state.step);
    EXPECT_TRUE(!status.ok() || loaded->state.step == step + 1) << failing;
    step = loaded->state.step;
  }
  // Nothing is left of what failed: the next one is written and the old ones go.
  ASSERT_TRUE((*writer)->Save(State(1000)).ok());
  ASSERT_TRUE((*writer)->Wait().ok());
  EXPECT_EQ(ListCheckpoints(scratch.path("c"))->size(), 1u);
}

std::vector<int64_t> Steps(const std::string& directory) {
  std::vector<int64_t> steps;
  const auto entries = ListCheckpoints(directory);
  EXPECT_TRUE(entries.ok()) << entries.status();
  for (const CheckpointEntry& entry : *entries) steps.push_back(entry.step);
  return steps;
}

class FullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = CheckpointWriter::Open({.directory = scratch_.path("c"),
                                          .second_directory = second_ ? scratch_.path("d") : "",
                                          .keep = 9});
    ASSERT_TRUE(opened.ok()) << opened.status();
    writer_ = *std::move(opened);
    for (int64_t step = 1; step <= 4; ++step) {
      TrainingState state = State(step);
      state.metric = step == 2 ? 0.5 : 1;  // the best
      ASSERT_TRUE(writer_->Save(state).ok());
    }
    ASSERT_TRUE(writer_->Wait().ok());
  }
  void TearDown() override {
    calls_left = -1;
    reason = EIO;
  }
  absl::Status Save(int64_t step) {
    EXPECT_TRUE(writer_->Save(State(step)).ok());
    absl::Status status = writer_->Wait();
    calls_left = -1;
    return status;
  }

  bool second_ = false;
  const testing::ScratchDirectory scratch_;
  std::unique_ptr<CheckpointWriter> writer_;
};

TEST_F(FullDiskTest, TheOldestGiveWay) {
  reason = ENOSPC;
  calls_left = 1;
  EXPECT_TRUE(Save(5).ok());
  EXPECT_EQ(Steps(scratch_.path("c")), (std::vector<int64_t>{5, 4, 3, 2}));
  EXPECT_EQ(writer_->TakeNotice(),
            absl::StrCat("1 older checkpoint gave way to that of step 5: the disk of '",
                         scratch_.path("c"), "' is full"));
  EXPECT_EQ(writer_->TakeNotice(), "");
  EXPECT_TRUE(writer_->GiveWay());
  EXPECT_EQ(Steps(scratch_.path("c")), (std::vector<int64_t>{5, 4, 2}));
  // Another error is not one that room would mend.
  reason = EIO;
  calls_left = 1;
  EXPECT_FALSE(Save(6).ok());
  EXPECT_EQ(Steps(scratch_.path("c")), (std::vector<int64_t>{5, 4, 2}));
}

// The newest one is damaged: what gives way is neither the newest whole one nor the best.
TEST_F(FullDiskTest, NeverTheBestNorTheNewestWholeOne) {
  const auto entries = ListCheckpoints(scratch_.path("c"));
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (const CheckpointEntry& entry : *entries)
    if (entry.step == 4) std::filesystem::remove(entry.path + "/state.safetensors");
  while (writer_->GiveWay()) {
  }
  EXPECT_EQ(Steps(scratch_.path("c")), (std::vector<int64_t>{3, 2}));
}

class SecondDirectoryTest : public FullDiskTest {
 protected:
  SecondDirectoryTest() { second_ = true; }
};

TEST_F(SecondDirectoryTest, TakesWhatFindsNoRoom) {
  std::filesystem::remove_all(scratch_.path("c"));
  scratch_.Write("c", "a file");
  EXPECT_TRUE(Save(5).ok());
  EXPECT_EQ(Steps(scratch_.path("d")), std::vector<int64_t>{5});
  const std::vector<std::string> both = {scratch_.path("c"), scratch_.path("d")};
  EXPECT_NE(writer_->TakeNotice().find("the checkpoint of step 5 is '"), std::string::npos);
  std::filesystem::remove(scratch_.path("c"));
  EXPECT_TRUE(Save(6).ok());
  EXPECT_EQ(LoadNewestCheckpoint(both)->state.step, 6);
  EXPECT_EQ(Steps(scratch_.path("c")), std::vector<int64_t>{6});
}

}  // namespace
}  // namespace onward::training
