#include "training/checkpoint/checkpoint.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/graph_edit.h"
#include "gtest/gtest.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "tests/support/scratch_directory.h"
#include "training/checkpoint/checkpoint_writer.h"
#include "training/optimizers/optimizer.h"
#include "training/step/training_session.h"
#include "training/trainer/checkpoint_model.h"

namespace onward::training {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchDirectory;

TrainingState State(int64_t step, std::optional<double> metric = std::nullopt) {
  TrainingState state;
  state.step = step;
  state.metric = metric;
  state.tensors["w"] = Tensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, static_cast<float>(step)});
  state.tensors["w.exp_avg"] = Tensor::Of<double>({2}, {0.1, -1e300});
  state.tensors["seen"] = Tensor::Of<bool>({3}, {true, false, true});
  state.tensors["half"] = Tensor(DType::kBFloat16, Dims{0, 4});
  state.values = {{"epoch", "3"}, {"lr", "0.10000000000000001"}, {"text", "\"\n\xc3\xa9"}};
  return state;
}

std::string FileBytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

std::unique_ptr<CheckpointWriter> Open(const CheckpointOptions& options) {
  auto writer = CheckpointWriter::Open(options);
  EXPECT_TRUE(writer.ok()) << writer.status();
  return *std::move(writer);
}

void Write(CheckpointWriter& writer, TrainingState state) {
  ASSERT_TRUE(writer.Save(std::move(state)).ok());
  const absl::Status status = writer.Wait();
  ASSERT_TRUE(status.ok()) << status;
}

std::vector<int64_t> Steps(const std::string& directory) {
  std::vector<int64_t> steps;
  const auto entries = ListCheckpoints(directory);
  EXPECT_TRUE(entries.ok()) << entries.status();
  for (const CheckpointEntry& entry : *entries) steps.push_back(entry.step);
  return steps;
}

TEST(CheckpointTest, EverythingComesBack) {
  const ScratchDirectory scratch;
  auto writer = Open({.directory = scratch.path("run/checkpoints")});
  Write(*writer, State(12, 0.1 + 0.2));
  const auto loaded = LoadNewestCheckpoint(scratch.path("run/checkpoints"));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->path, scratch.path("run/checkpoints/000000-step-12"));
  EXPECT_TRUE(loaded->damaged.empty());
  EXPECT_EQ(loaded->state.step, 12);
  EXPECT_EQ(loaded->state.metric, 0.1 + 0.2);
  const TrainingState expected = State(12);
  EXPECT_EQ(loaded->state.values, expected.values);
  ASSERT_EQ(loaded->state.tensors.size(), expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors)
    EXPECT_TRUE(SameBits(loaded->state.tensors.at(name), tensor)) << name;
}

TEST(CheckpointTest, KeepsTheNewestTheBestAndMilestones) {
  const ScratchDirectory scratch;
  CheckpointOptions options{.directory = scratch.path(), .keep = 2, .keep_every = 50};
  auto writer = Open(options);
  const double losses[] = {9, 5, 3, 4, NAN, 6, 3.5};
  for (int i = 0; i < 7; ++i) Write(*writer, State(10 * (i + 1), losses[i]));
  EXPECT_THAT(Steps(scratch.path()), ElementsAre(70, 60, 50, 30));
  writer.reset();
  // A new writer continues from what is there.
  writer = Open(options);
  Write(*writer, State(80));
  EXPECT_THAT(Steps(scratch.path()), ElementsAre(80, 70, 50, 30));
  Write(*writer, State(90, 1));
  Write(*writer, State(95, 2));
  Write(*writer, State(96, 2));
  EXPECT_THAT(Steps(scratch.path()), ElementsAre(96, 95, 90, 50));
  const ScratchDirectory accuracy;
  writer = Open({.directory = accuracy.path(), .keep = 1, .largest_is_best = true});
  for (int i = 0; i < 4; ++i) Write(*writer, State(i, losses[i]));
  EXPECT_THAT(Steps(accuracy.path()), ElementsAre(3, 0));
  EXPECT_EQ(BestCheckpoint(*ListCheckpoints(accuracy.path()), true)->step, 0);
  EXPECT_EQ(BestCheckpoint(*ListCheckpoints(accuracy.path()), false)->step, 3);
  EXPECT_EQ(BestCheckpoint({}, false), nullptr);
}

// A damaged one whose manifest says that it is the best does not take the best one's place.
TEST(CheckpointTest, TheBestIsWhole) {
  const ScratchDirectory scratch;
  const CheckpointOptions options{.directory = scratch.path(), .keep = 1};
  auto writer = Open({.directory = scratch.path(), .keep = 9});
  const double losses[] = {5, 2, 3, 4};
  for (int i = 0; i < 4; ++i) Write(*writer, State(i + 1, losses[i]));
  writer.reset();
  fs::resize_file(scratch.path("000001-step-2/state.safetensors"), 100);
  writer = Open(options);
  Write(*writer, State(5, 6));
  EXPECT_THAT(Steps(scratch.path()), ElementsAre(5, 3));
  const auto best = ChooseCheckpoint({scratch.path()}, {CheckpointChoice::kBest, 0}, false);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->state.step, 3);
  // Of those that another process damages meanwhile, the next best is exported.
  fs::resize_file(scratch.path("000002-step-3/state.safetensors"), 100);
  const auto next = ChooseCheckpoint({scratch.path()}, {CheckpointChoice::kBest, 0}, false);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->state.step, 5);
  ASSERT_EQ(next->damaged.size(), 1u);
  EXPECT_THAT(next->damaged[0], HasSubstr("000002-step-3/state.safetensors"));
}

TEST(CheckpointTest, ThoseOfAnotherTrainingGoWithItsFirst) {
  const ScratchDirectory scratch;
  auto writer = Open({.directory = scratch.path(), .keep = 3, .keep_every = 10});
  for (int i = 1; i <= 3; ++i) Write(*writer, State(10 * i, i));
  writer.reset();
  writer = Open({.directory = scratch.path(), .keep = 1, .continues = false, .keep_every = 10});
  EXPECT_THAT(Steps(scratch.path()), ElementsAre(30, 20, 10));
  Write(*writer, State(1, 9));
  EXPECT_THAT(Steps(scratch.path()), ElementsAre(1));
  Write(*writer, State(2, 8));
  Write(*writer, State(3, 8.5));
  EXPECT_THAT(Steps(scratch.path()), ElementsAre(3, 2));
}

TEST(CheckpointTest, SaveDoesNotWait) {
  const ScratchDirectory scratch;
  auto writer = Open({.directory = scratch.path(), .keep = 100});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(writer->Save(State(i)).ok());
  writer.reset();
  EXPECT_EQ(Steps(scratch.path()).size(), 20u);
}

// w = w - 0.1 * gradient of sum(w): each step takes 0.1 off every element.
std::unique_ptr<TrainingSession> Falling(int64_t elements) {
  Model model;
  model.opsets[""] = 28;
  GraphSink sink(model.graph);
  Tensor start(DType::kFloat64, Dims{elements});
  std::fill_n(start.mutable_data<double>(), elements, 0.0);
  const ValueId w = GraphEdit(model.graph).AddConstant("w", start);
  const Expr loss = ReduceSum(sink.Value(w), {}, false);
  GraphEdit(model.graph).AddOutput(loss.id());
  const auto gradients = AddGradients(model.graph, loss.id(), {w});
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_TRUE(
      AddOptimizer(model, {"SGD", {{"lr", 0.1}}}, {ParameterGroup{"", {w}, *gradients, {}}}).ok());
  auto session = TrainingSession::Create(std::move(model));
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

// The steps that a session makes while a checkpoint is written do not change it.
TEST(CheckpointTest, TheTrainingGoesOnMeanwhile) {
  const ScratchDirectory scratch;
  auto writer = Open({.directory = scratch.path(), .keep = 100});
  auto session = Falling(50000);
  for (int64_t step = 1; step <= 30; ++step) {
    ASSERT_TRUE(session->Step({}).ok());
    if (step % 3 != 0) continue;
    TrainingState state;
    state.step = step;
    for (const std::string& name : session->state_names())
      state.tensors[name] = *session->State(name);
    ASSERT_TRUE(writer->Save(std::move(state)).ok());
  }
  writer.reset();
  const auto entries = ListCheckpoints(scratch.path());
  ASSERT_EQ(entries->size(), 10u);
  for (const CheckpointEntry& entry : *entries) {
    const auto state = LoadCheckpoint(entry.path);
    ASSERT_TRUE(state.ok()) << state.status();
    for (const double x : state->tensors.at("w").span<double>())
      ASSERT_NEAR(x, -0.1 * static_cast<double>(entry.step), 1e-9);
  }
  // A session continues from tensors in the mapped file, which it does not change.
  const auto newest = LoadNewestCheckpoint(scratch.path());
  auto resumed = Falling(50000);
  for (const auto& [name, tensor] : newest->state.tensors)
    ASSERT_TRUE(resumed->Set(name, tensor).ok());
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(resumed->Step({}).ok());
  EXPECT_NEAR(resumed->State("w")->data<double>()[49999], -3.4, 1e-9);
  EXPECT_TRUE(LoadNewestCheckpoint(scratch.path()).ok());
}

TEST(CheckpointTest, DamagedOnesAreNamedAndPassedOver) {
  const ScratchDirectory scratch;
  auto writer = Open({.directory = scratch.path(), .keep = 5});
  for (int i = 1; i <= 4; ++i) Write(*writer, State(i));
  const auto path = [&](int i, std::string_view file) {
    return absl::StrCat(scratch.path(), "/00000", i - 1, "-step-", i, "/", std::string(file));
  };
  std::string tensors = FileBytes(path(4, "state.safetensors"));
  const size_t at = tensors.find(
      std::string(reinterpret_cast<const char*>(State(4).tensors.at("w").raw_data()), 24));
  tensors[at + 9] ^= 4;
  std::ofstream(path(4, "state.safetensors"), std::ios::binary) << tensors;
  fs::resize_file(path(3, "state.safetensors"), tensors.size() - 1);
  fs::remove(path(2, "manifest.json"));
  const auto loaded = LoadNewestCheckpoint(scratch.path());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->state.step, 1);
  ASSERT_EQ(loaded->damaged.size(), 3u);
  EXPECT_THAT(
      loaded->damaged[0],
      HasSubstr("000003-step-4/state.safetensors': damaged: the checksum differs, of tensor 'w'"));
  EXPECT_THAT(loaded->damaged[1], HasSubstr("000002-step-3/state.safetensors': has"));
  EXPECT_THAT(loaded->damaged[2], HasSubstr("000001-step-2/manifest.json'"));
  fs::remove_all(fs::path(path(1, "")));
  const auto none = LoadNewestCheckpoint(scratch.path());
  EXPECT_TRUE(absl::IsDataLoss(none.status()));
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("every checkpoint is damaged"));
  EXPECT_TRUE(absl::IsNotFound(LoadNewestCheckpoint(scratch.path("none")).status()));
  // What is written after them is the newest, though its step is smaller.
  Write(*writer, State(2));
  EXPECT_EQ(LoadNewestCheckpoint(scratch.path())->state.step, 2);
}

TEST(CheckpointTest, EveryBitFlipIsFound) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch.path("c"));
  ASSERT_TRUE(WriteCheckpointFiles(State(7, 0.5), scratch.path("c")).ok());
  ASSERT_TRUE(LoadCheckpoint(scratch.path("c")).ok());
  std::mt19937_64 random(20);
  const std::string files[] = {"c/state.safetensors", "c/manifest.json"};
  const std::string bytes[] = {FileBytes(scratch.path(files[0])),
                               FileBytes(scratch.path(files[1]))};
  int found = 0;
  for (int i = 0; i < 10000; ++i) {
    const size_t file = random() % 2;
    const size_t bit = random() % (8 * bytes[file].size());
    const auto flip = [&] {
      std::fstream stream(scratch.path(files[file]),
                          std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(static_cast<std::streamoff>(bit / 8));
      const int byte = stream.peek();
      stream.put(static_cast<char>(byte ^ 1 << bit % 8));
    };
    flip();
    const absl::Status status = LoadCheckpoint(scratch.path("c")).status();
    found += !status.ok() && absl::StrContains(status.message(), files[file]);
    flip();
  }
  ASSERT_TRUE(LoadCheckpoint(scratch.path("c")).ok());
  EXPECT_EQ(found, 10000);
  // Zeroed blocks, and what is cut off.
  for (size_t begin = 0; begin < bytes[0].size(); begin += 16) {
    std::string zeroed = bytes[0];
    const size_t end = std::min(begin + 16, zeroed.size());
    std::fill(zeroed.begin() + static_cast<std::ptrdiff_t>(begin),
              zeroed.begin() + static_cast<std::ptrdiff_t>(end), 0);
    if (zeroed == bytes[0]) continue;
    scratch.Write(files[0], zeroed);
    EXPECT_FALSE(LoadCheckpoint(scratch.path("c")).ok()) << begin;
  }
  scratch.Write(files[0], bytes[0]);
  for (size_t size = 0; size < bytes[1].size(); ++size) {
    scratch.Write(files[1], bytes[1].substr(0, size));
    EXPECT_FALSE(LoadCheckpoint(scratch.path("c")).ok()) << size;
  }
}

TEST(CheckpointTest, ACheckpointOfAnotherModel) {
  const TrainingState state = State(1);
  EXPECT_TRUE(CheckSameTensors(state, state.tensors).ok());
  auto expected = state.tensors;
  expected.erase("seen");
  expected["v"] = Tensor::Scalar<float>(0);
  expected["w"] = Tensor(DType::kFloat16, Dims{2, 3});
  const absl::Status status = CheckSameTensors(state, expected);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* part :
       {"it has no 'v'", "'seen' is not here", "'w' is float32[2,3] there and float16[2,3] here"})
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  for (int i = 0; i < 100; ++i) expected[absl::StrCat("x", i)] = Tensor::Scalar<float>(0);
  EXPECT_THAT(std::string(CheckSameTensors(state, expected).message()), HasSubstr("and 83 more"));
}

TEST(CheckpointTest, WhatCannotBeWritten) {
  const ScratchDirectory scratch;
  auto writer = Open({.directory = scratch.path("c")});
  Write(*writer, State(1));
  TrainingState strings = State(2);
  strings.tensors["s"] = Tensor(DType::kString, Dims{1});
  ASSERT_TRUE(writer->Save(strings).ok());
  TrainingState bytes = State(3);
  bytes.values["x"] = "\xff";
  EXPECT_THAT(std::string(writer->Save(bytes).message()), HasSubstr("was not written: 's'"));
  EXPECT_THAT(std::string(writer->Wait().message()), HasSubstr("the value 'x' is not UTF-8"));
  EXPECT_TRUE(writer->Wait().ok());
  EXPECT_THAT(Steps(scratch.path("c")), ElementsAre(1));
  size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(scratch.path("c")))
    entries += entry.path().filename() != ".lock";
  EXPECT_EQ(entries, 1u);
  EXPECT_EQ(CheckpointWriter::Open({.directory = scratch.path("c")}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  scratch.Write("file", "");
  EXPECT_FALSE(CheckpointWriter::Open({.directory = scratch.path("file")}).ok());
}

}  // namespace
}  // namespace onward::training
