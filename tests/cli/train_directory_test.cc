// The output directory of onward train: which one it is, and that no training in it is lost.
#include <sys/file.h>

#include <map>

#include "tests/cli/train_fixture.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ReadFile;
using testing::TrainCommandTest;

// Every file below `directory`, with its bytes.
std::map<std::string, std::string> Files(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) files[entry.path()] = ReadFile(entry.path());
  return files;
}

class TrainDirectoryTest : public TrainCommandTest {
 protected:
  void SetUp() override {
    TrainCommandTest::SetUp();
    output_ = directory_.path("out");
  }
  // A short training into the output directory.
  int Train(const std::string& more = "") {
    return Call(absl::StrCat(config_, " --set steps=6 --output-dir ", output_, " ", more));
  }

  std::string output_;
};

TEST_F(TrainDirectoryTest, ATrainingIsNotReplacedUnlessAsked) {
  ASSERT_EQ(Train("--set log.tensorboard=true"), 0) << log_;
  const auto before = Files(output_);
  EXPECT_EQ(Train("--seed 5"), 1);
  EXPECT_THAT(log_, HasSubstr("holds a training ("));
  EXPECT_THAT(log_, HasSubstr("up to step 6, metrics.jsonl, model.onnx"));
  EXPECT_THAT(log_, HasSubstr("--resume continues it, --overwrite replaces it"));
  EXPECT_EQ(Files(output_), before);
  ASSERT_EQ(Train("--seed 5 --overwrite --set steps=3"), 0) << log_;
  EXPECT_NE(ReadFile(output_ + "/model.onnx"), before.at(output_ + "/model.onnx"));
  EXPECT_EQ(testing::Metrics(output_).back()["step"], 3);
  EXPECT_FALSE(fs::exists(output_ + "/tensorboard"));
  for (const auto& entry : fs::directory_iterator(output_ + "/checkpoints"))
    EXPECT_THAT(entry.path().string(), ::testing::Not(HasSubstr("step-6")));
}

// What any single file that a training leaves says, too.
TEST_F(TrainDirectoryTest, EachOfItsFilesIsATraining) {
  for (const char* file :
       {"metrics.jsonl", "model.onnx", "training_step.onnx", "loss.svg", "vocabulary.txt",
        "tensorboard/events", "model.onnx.data", "model.onnx.2.data"}) {
    SCOPED_TRACE(file);
    fs::remove_all(output_);
    directory_.Write(absl::StrCat("out/", file), "mine");
    EXPECT_EQ(Train(), 1);
    EXPECT_THAT(log_, HasSubstr("--overwrite replaces it"));
    EXPECT_EQ(ReadFile(absl::StrCat(output_, "/", file)), "mine");
  }
  fs::remove_all(output_);
  directory_.Write("out/notes.txt", "mine");
  EXPECT_EQ(Train(), 0) << log_;
  EXPECT_EQ(Train("--overwrite"), 0) << log_;
  EXPECT_EQ(ReadFile(output_ + "/notes.txt"), "mine");
}

// A config, data or a model that are wrong have destroyed nothing.
TEST_F(TrainDirectoryTest, WhatDoesNotTrainReplacesNothing) {
  ASSERT_EQ(Train(), 0) << log_;
  const auto before = Files(output_);
  for (const char* wrong :
       {"--set optimizer.nadam2={}", "--set data.mnist.images=none", "--set loss.target=none",
        "--set loss.none={}", "--set optimizer.adam.lr=nan",
        "--set evaluation.data.mnist.labels=none", "--max-memory 20KB"}) {
    SCOPED_TRACE(wrong);
    EXPECT_EQ(Train(absl::StrCat("--overwrite ", wrong)), 1) << log_;
    EXPECT_EQ(Files(output_), before);
  }
}

TEST_F(TrainDirectoryTest, ResumeAndOverwriteAreWrongUsageTogether) {
  EXPECT_EQ(Train("--resume --overwrite"), 2);
  EXPECT_FALSE(fs::exists(output_));
}

TEST_F(TrainDirectoryTest, NoDirectoryIsNoTraining) {
  const std::string here = directory_.path("here");
  fs::create_directory(here);
  const std::string program = absl::StrCat("cd ", here, " && ", ONWARD_PROGRAM, " train ");
  const std::string log = absl::StrCat(" >", directory_.path("log"), " 2>&1");
  EXPECT_EQ(WEXITSTATUS(std::system((program + config_ + log).c_str())), 2);
  EXPECT_THAT(ReadFile(directory_.path("log")), HasSubstr("--output-dir, or by output_dir"));
  EXPECT_TRUE(fs::is_empty(here));
  // The config's is beside the config.
  const std::string named = config_ + " --set output_dir=beside --set steps=2";
  EXPECT_EQ(WEXITSTATUS(std::system((program + named + log).c_str())), 0);
  EXPECT_TRUE(fs::is_empty(here));
  EXPECT_TRUE(fs::exists(directory_.path("beside/model.onnx")));
}

TEST_F(TrainDirectoryTest, ATrainingDoesNotWriteOverWhatItReads) {
  ASSERT_EQ(Train(), 0) << log_;
  const std::string model = ReadFile(output_ + "/model.onnx");
  const std::string tuned = absl::StrCat(
      "train ", config_, " --set built= --set model=out/model.onnx --set steps=2 --output-dir ");
  for (const char* more : {"", " --overwrite"}) {
    EXPECT_EQ(Onward(absl::StrCat(tuned, output_, more)), 1);
    EXPECT_THAT(log_, HasSubstr("/out/model.onnx', and would write over it"));
  }
  EXPECT_EQ(ReadFile(output_ + "/model.onnx"), model);
  EXPECT_EQ(Onward(absl::StrCat(tuned, directory_.path("tuned"))), 0) << log_;
}

TEST_F(TrainDirectoryTest, OneProcessAtATime) {
  const pid_t first = Start({"train", config_, "--output-dir", output_, "--set", "steps=1000000"});
  ASSERT_TRUE(Until([&] { return fs::exists(output_ + "/metrics.jsonl"); }));
  for (const char* how : {"", "--resume", "--overwrite"}) {
    EXPECT_EQ(Train(how), 1);
    EXPECT_THAT(log_, HasSubstr("another process writes checkpoints to"));
  }
  kill(first, SIGKILL);
  EXPECT_EQ(Await(first), -SIGKILL);
  EXPECT_EQ(Train("--resume"), 0) << log_;
}

TEST_F(TrainDirectoryTest, ResumingWithoutCheckpoints) {
  ASSERT_EQ(Train("--resume"), 0) << log_;  // begins
  fs::remove_all(output_ + "/checkpoints");
  const auto before = Files(output_);
  EXPECT_EQ(Train("--resume"), 1);
  EXPECT_THAT(log_, HasSubstr("has a trained model.onnx but no checkpoint"));
  EXPECT_EQ(Files(output_), before);
}

}  // namespace
}  // namespace onward
