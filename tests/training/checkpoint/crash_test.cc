// Checkpoints of processes that die or run out of disk while they write.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/scratch_directory.h"
#include "training/checkpoint/checkpoint.h"
#include "training/checkpoint/checkpoint_writer.h"

namespace onward::training {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ScratchDirectory;

// Every element says which step it is of.
TrainingState State(int64_t step, int64_t elements) {
  TrainingState state;
  state.step = step;
  for (const char* name : {"a", "b", "c"}) {
    Tensor tensor(DType::kInt64, Dims{elements});
    for (int64_t i = 0; i < elements; ++i) tensor.mutable_data<int64_t>()[i] = step;
    state.tensors[name] = std::move(tensor);
  }
  state.values["step"] = absl::StrCat(step);
  return state;
}

bool IsWhole(const TrainingState& state) {
  for (const auto& [name, tensor] : state.tensors)
    for (const int64_t x : tensor.span<int64_t>())
      if (x != state.step) return false;
  return state.tensors.size() == 3 && state.values.at("step") == absl::StrCat(state.step);
}

// Saves steps `first`, first + 1, ... until it is killed; writes each one that is durable to
// `report`.
[[noreturn]] void SaveForever(const std::string& directory, int64_t first, int report) {
  auto writer = CheckpointWriter::Open({.directory = directory, .keep = 2});
  if (!writer.ok()) _exit(2);
  for (int64_t step = first;; ++step) {
    if (!(*writer)->Save(State(step, 4000)).ok()) _exit(3);
    if (!(*writer)->Wait().ok()) _exit(4);
    if (write(report, &step, sizeof(step)) != sizeof(step)) _exit(5);
  }
}

TEST(CrashTest, KilledAtAnyMomentTheNewestLoads) {
  const ScratchDirectory scratch;
  std::mt19937_64 random(11);
  int64_t durable = 0;
  for (int round = 0; round < 60; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      SaveForever(scratch.path("c"), durable + 1, ends[1]);
    }
    close(ends[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 120000));
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    for (int64_t step; read(ends[0], &step, sizeof(step)) == sizeof(step);) durable = step;
    close(ends[0]);
    const auto loaded = LoadNewestCheckpoint(scratch.path("c"));
    if (absl::IsNotFound(loaded.status()) && durable == 0) continue;
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_TRUE(loaded->damaged.empty());
    EXPECT_TRUE(IsWhole(loaded->state));
    // The one in flight may have become durable before its report.
    EXPECT_GE(loaded->state.step, durable);
    EXPECT_LE(loaded->state.step, durable + 1);
    durable = loaded->state.step;
  }
  EXPECT_GT(durable, 20);
}

// Files may not grow beyond `limit` bytes: as on a full disk, a write fails somewhere on the way.
int SaveWithin(const std::string& directory, rlim_t limit, int64_t step) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    auto writer = CheckpointWriter::Open({.directory = directory, .keep = 1});
    const rlimit bound{limit, limit};
    if (!writer.ok() || setrlimit(RLIMIT_FSIZE, &bound) != 0) _exit(2);
    if (!(*writer)->Save(State(step, 100)).ok()) _exit(3);
    const absl::Status status = (*writer)->Wait();
    _exit(status.ok()                                                                  ? 0
          : std::string(status.message()).find("was not written") != std::string::npos ? 1
                                                                                       : 4);
  }
  int status;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CrashTest, AFullDiskLeavesTheLastGoodOne) {
  const ScratchDirectory scratch;
  ASSERT_EQ(SaveWithin(scratch.path("c"), RLIM_INFINITY, 1), 0);
  int64_t newest = 1;
  int failures = 0;
  for (rlim_t limit = 0; limit < 4000; limit += 97) {
    const int result = SaveWithin(scratch.path("c"), limit, newest + 1);
    ASSERT_TRUE(result == 0 || result == 1) << result;
    failures += result;
    if (result == 0) ++newest;
    const auto loaded = LoadNewestCheckpoint(scratch.path("c"));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->state.step, newest);
    EXPECT_TRUE(IsWhole(loaded->state));
    // Nothing is left of what failed.
    size_t entries = 0;
    for (const auto& entry : fs::directory_iterator(scratch.path("c")))
      entries += entry.path().filename() != ".lock";
    EXPECT_EQ(entries, 1u);
  }
  EXPECT_GT(failures, 20);
  EXPECT_GT(newest, 1);
}

TEST(CrashTest, WhatAKilledProcessLeftIsRemoved) {
  const ScratchDirectory scratch;
  scratch.Write("c/.unfinished-4/state.safetensors", "x");
  scratch.Write("c/.removed-2/manifest.json", "x");
  scratch.Write("c/notes/mine", "x");
  const auto writer = CheckpointWriter::Open({.directory = scratch.path("c")});
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_FALSE(fs::exists(scratch.path("c/.unfinished-4")));
  EXPECT_FALSE(fs::exists(scratch.path("c/.removed-2")));
  EXPECT_TRUE(fs::exists(scratch.path("c/notes/mine")));
}

}  // namespace
}  // namespace onward::training
