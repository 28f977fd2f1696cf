// What onward train --resume says of a training that is not quite the one that began, and that its
// records hold each step once.
#include <map>

#include "tests/cli/train_fixture.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::Metrics;
using ::testing::Not;
using testing::ReadFile;
using testing::TrainCommandTest;

class TrainResumeTest : public TrainCommandTest {
 protected:
  void SetUp() override {
    TrainCommandTest::SetUp();
    output_ = directory_.path("out");
  }
  int Train(const std::string& more) {
    return Call(absl::StrCat(config_, " --output-dir ", output_, " ", more));
  }

  std::string output_;
};

TEST_F(TrainResumeTest, WhatHasChangedIsListed) {
  ASSERT_EQ(Train("--set steps=20"), 0) << log_;
  ASSERT_EQ(Train("--set steps=20 --resume"), 0) << log_;
  EXPECT_THAT(log_, Not(HasSubstr("has changed")));
  ASSERT_EQ(Train("--set steps=25 --resume --set optimizer.adam.lr=0.5 --precision strict"
                  " --set loss.cross_entropy.label_smoothing=0.1 --set schedule.cosine={}"),
            0)
      << log_;
  EXPECT_THAT(log_, HasSubstr("since the checkpoint this has changed:"));
  for (const char* change :
       {"loss.cross_entropy.label_smoothing: nothing -> 0.1", "optimizer.adam.lr: 0.01 -> 0.5",
        "precision.arithmetic: nothing -> STRICT", "schedule.cosine: nothing -> {}",
        "steps: 20 -> 25"})
    EXPECT_THAT(log_, HasSubstr(change));
  for (const char* fixed : {"batch_size", "seed", "accumulate"}) {
    EXPECT_EQ(Train(absl::StrCat("--resume --set ", fixed, "=9")), 1);
    EXPECT_THAT(log_, HasSubstr(absl::StrCat(" is of ", fixed, " ")));
  }
}

TEST_F(TrainResumeTest, OtherDataAreRefusedUnlessAskedFor) {
  ASSERT_EQ(Train("--set steps=20"), 0) << log_;
  const std::string model = ReadFile(output_ + "/model.onnx");
  // A part of them.
  EXPECT_EQ(Train("--resume --set data.part.to=0.5"), 1);
  EXPECT_THAT(log_, HasSubstr("is of other data: data.part.to: nothing -> 0.5"));
  EXPECT_THAT(log_, HasSubstr("ask for these by --allow-other-data"));
  // Other files, and other contents of the same files.
  WriteImages("images2", "labels2", 2);
  EXPECT_EQ(Train("--resume --set data.mnist.images=images2"), 1);
  EXPECT_THAT(log_, HasSubstr("data.mnist.images: 31376 bytes, checksum "));
  const std::string images = ReadFile(directory_.path("images"));
  std::string changed = images;
  changed[20000] ^= 1;
  directory_.Write("images", changed);
  EXPECT_EQ(Train("--resume"), 1);
  EXPECT_THAT(log_, HasSubstr("is of other data: data.mnist.images: 31376 bytes, checksum "));
  EXPECT_EQ(ReadFile(output_ + "/model.onnx"), model);
  EXPECT_EQ(Train("--resume --allow-other-data"), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("resuming after step 20 of 60"));
  EXPECT_THAT(log_, HasSubstr("  data.mnist.images: 31376 bytes"));
}

// Data that have moved, and settings that decide nothing, do not count as other data.
TEST_F(TrainResumeTest, DataMayMove) {
  ASSERT_EQ(Train("--set steps=20"), 0) << log_;
  fs::create_directory(directory_.path("moved"));
  for (const char* file : {"images", "labels"})
    fs::rename(directory_.path(file), directory_.path(absl::StrCat("moved/", file)));
  EXPECT_EQ(
      Train(absl::StrCat("--resume --set data.workers=2 --data-dir ", directory_.path("moved"))), 0)
      << log_;
  EXPECT_THAT(log_, HasSubstr("resuming after step 20 of 60"));
}

// Another file of the model's name.
TEST_F(TrainResumeTest, AnotherModelFileIsListed) {
  ASSERT_EQ(Call(absl::StrCat(config_, " --set steps=1 --output-dir ", directory_.path("a"))), 0);
  ASSERT_EQ(Call(absl::StrCat(config_, " --set steps=2 --output-dir ", directory_.path("b"))), 0);
  const std::string model = directory_.path("base.onnx");
  fs::copy_file(directory_.path("a/model.onnx"), model);
  ASSERT_EQ(Train("--set built= --set model=base.onnx --set steps=5"), 0) << log_;
  fs::copy_file(directory_.path("b/model.onnx"), model, fs::copy_options::overwrite_existing);
  ASSERT_EQ(Train("--set built= --set model=base.onnx --set steps=6 --resume"), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("contents of model: "));
}

// Every step of every tag, in all event files together.
std::map<std::string, std::map<int64_t, int>> Events(const std::string& output) {
  std::map<std::string, std::map<int64_t, int>> counts;
  for (const auto& entry : fs::directory_iterator(output + "/tensorboard")) {
    const std::string text = output + "/events.json";
    EXPECT_EQ(std::system(absl::StrCat("python3 ", ONWARD_SOURCE_DIR,
                                       "/tests/training/log/read_log.py events ",
                                       entry.path().string(), " >", text)
                              .c_str()),
              0);
    for (const auto& event : nlohmann::json::parse(ReadFile(text)))
      if (event.contains("tag")) ++counts[event["tag"]][event["step"].get<int64_t>()];
  }
  return counts;
}

TEST_F(TrainResumeTest, EachStepIsRecordedOnce) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  const std::vector<std::string> arguments = {"train",
                                              config_,
                                              "--output-dir",
                                              output_,
                                              "--resume",
                                              "--set",
                                              "steps=600",
                                              "--set",
                                              "checkpoint.every_steps=37",
                                              "--set",
                                              "log.tensorboard=true"};
  int status = -1;
  for (int i = 0; i < 40 && status != 0; ++i) {
    const pid_t child = Start(arguments);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 250000));
    kill(child, i % 3 == 0 ? SIGTERM : SIGKILL);
    status = Await(child);
  }
  ASSERT_EQ(Await(Start(arguments)), 0);
  const auto events = Events(output_);
  const std::map<int64_t, int> losses = events.at("train/loss");
  ASSERT_EQ(losses.size(), 600u);
  for (const auto& [step, count] : losses) EXPECT_EQ(count, 1) << "step " << step;
  const std::map<int64_t, int> evaluations = events.at("evaluation/loss");
  ASSERT_EQ(evaluations.size(), 30u);
  for (const auto& [step, count] : evaluations) EXPECT_EQ(count, 1) << "step " << step;
  std::map<int64_t, int> steps, tests;
  for (const auto& line : Metrics(output_)) ++(line.contains("loss") ? steps : tests)[line["step"]];
  EXPECT_EQ(steps, losses);
  EXPECT_EQ(tests, evaluations);
}

// The curve's points, and what --json says, are those of the whole training.
TEST_F(TrainResumeTest, TheCurveKeepsItsHistory) {
  ASSERT_EQ(Train(""), 0) << log_;
  const std::string whole = ReadFile(output_ + "/loss.svg");
  EXPECT_GT(whole.size(), 2000u);
  ASSERT_EQ(Train("--resume --json"), 0) << log_;
  EXPECT_EQ(ReadFile(output_ + "/loss.svg"), whole);
  EXPECT_THAT(log_, HasSubstr("\"loss\": "));
  EXPECT_THAT(log_, HasSubstr("\"evaluation\": {"));
  const std::string parts = directory_.path("parts");
  const std::string to = absl::StrCat(config_, " --output-dir ", parts);
  ASSERT_EQ(Call(absl::StrCat(to, " --set steps=33")), 0) << log_;
  ASSERT_EQ(Call(absl::StrCat(to, " --resume --set evaluation.every_steps=20")), 0) << log_;
  const std::string drawn = ReadFile(parts + "/loss.svg");
  // The evaluation after step 33, its last, is one more point of the second curve.
  const auto first = [](const std::string& svg) {
    const size_t at = svg.find("class=\"curve\"");
    return svg.substr(at, svg.find("/>", at) - at);
  };
  const std::string in_parts = first(drawn), at_once = first(whole);
  EXPECT_EQ(std::count(in_parts.begin(), in_parts.end(), 'L'),
            std::count(at_once.begin(), at_once.end(), 'L'));
}

}  // namespace
}  // namespace onward
