// Every call to the system that writing a checkpoint makes fails once: the earlier checkpoint stays
// and the training is told. The program's own definitions of these calls stand before the C
// library's.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_directory.h"
#include "training/checkpoint/checkpoint.h"
#include "training/checkpoint/checkpoint_writer.h"

namespace {

// Counts down to the call that fails; negative: none does.
std::atomic<int> calls_left = -1;
std::atomic<int> calls = 0;

bool Fails() {
  ++calls;
  return calls_left >= 0 && calls_left-- == 0;
}

// What the system's calls answer.
long Answer(long number, long a, long b, long c) {
  if (!Fails()) return syscall(number, a, b, c);
  errno = EIO;
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

namespace onward {
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

}  // namespace
}  // namespace onward
