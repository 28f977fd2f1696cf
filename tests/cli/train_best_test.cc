// Which weights onward train and onward export make a model of.
#include <algorithm>

#include "tests/cli/train_fixture.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::Metrics;
using testing::ReadFile;
using testing::TrainCommandTest;

// The labels that the evaluation looks at are others than those trained on: its loss first falls a
// little, then rises.
class TrainBestTest : public TrainCommandTest {
 protected:
  void SetUp() override {
    TrainCommandTest::SetUp();
    std::string labels = testing::Idx({40}, "");
    for (int i = 0; i < 40; ++i) labels += static_cast<char>(i % 3 == 0 ? (i + 1) % 10 : i % 10);
    directory_.Write("others", labels);
    output_ = directory_.path("out");
    config_ += " --set evaluation.data.mnist.labels=others --set evaluation.every_steps=5";
  }
  int Train(const std::string& more = "") {
    return Call(absl::StrCat(config_, " --output-dir ", output_, " ", more));
  }
  // The loss that `onward evaluate` finds.
  double LossOf(const std::string& model) {
    EXPECT_EQ(Onward(absl::StrCat("evaluate --json ", config_, " --model ", model)), 0) << log_;
    return nlohmann::json::parse(log_)["loss"];
  }
  struct Evaluation {
    int64_t step = 0;
    double loss = 0;
  };
  std::vector<Evaluation> Evaluations() const {
    std::vector<Evaluation> found;
    for (const auto& line : Metrics(output_))
      if (line.contains("evaluation"))
        found.push_back({line["step"], line["evaluation"]["loss"].get<double>()});
    return found;
  }
  Evaluation Best() const {
    const auto all = Evaluations();
    return *std::min_element(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.loss < b.loss; });
  }

  std::string output_;
};

TEST_F(TrainBestTest, TheBestIsExportedAndSaid) {
  // Checkpoints are not due where the best is reached.
  ASSERT_EQ(Train("--set checkpoint.every_steps=1000"), 0) << log_;
  const std::string log = log_;
  const Evaluation best = Best(), last = Evaluations().back();
  ASSERT_LT(best.step, last.step);
  EXPECT_NEAR(LossOf(output_ + "/model.onnx"), best.loss, 1e-6);
  EXPECT_THAT(log, HasSubstr(absl::StrCat("model.onnx, of step ", best.step, ", the best (loss ")));
  // A finished training that is resumed exports the same.
  const std::string model = ReadFile(output_ + "/model.onnx");
  ASSERT_EQ(Train("--set checkpoint.every_steps=1000 --resume"), 0) << log_;
  EXPECT_EQ(ReadFile(output_ + "/model.onnx"), model);
  ASSERT_EQ(Train("--set export.weights=LAST --overwrite"), 0) << log_;
  EXPECT_THAT(log_, HasSubstr(absl::StrCat("of step 60; the best was step ", best.step)));
  EXPECT_NEAR(LossOf(output_ + "/model.onnx"), last.loss, 1e-6);
}

TEST_F(TrainBestTest, EarlyStoppingSaysWhyItEnded) {
  ASSERT_EQ(Train("--json --set evaluation.patience=2 --set steps=5000"), 0) << log_;
  ASSERT_EQ(Train("--set evaluation.patience=2 --set steps=5000 --overwrite"), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("(ended early: the loss was not better than its best in 2 evalua"));
  EXPECT_NEAR(LossOf(output_ + "/model.onnx"), Best().loss, 1e-6);
  EXPECT_EQ(Evaluations().back().step, Best().step + 10);
}

TEST_F(TrainBestTest, KilledAtAnyMomentTheBestIsTheSame) {
  ASSERT_EQ(Train(), 0) << log_;
  const std::string want = ReadFile(output_ + "/model.onnx");
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  const std::string killed = directory_.path("killed");
  directory_.Write("killed/model.onnx.1-0.tmp", "what a killed process left");
  int status = -1;
  for (int i = 0; i < 60 && status != 0; ++i) {
    const pid_t child = Start({"train", directory_.path("train.textproto"), "--set",
                               "evaluation.data.mnist.labels=others", "--set",
                               "evaluation.every_steps=5", "--output-dir", killed, "--resume"});
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 150000));
    kill(child, i % 2 == 0 ? SIGKILL : SIGTERM);
    status = Await(child);
    // Before the program's first line a signal does what it does by default.
    ASSERT_TRUE(status == 0 || status == -SIGKILL || status == 128 + SIGTERM || status == -SIGTERM)
        << status;
  }
  ASSERT_EQ(Call(absl::StrCat(config_, " --resume --output-dir ", killed)), 0) << log_;
  EXPECT_EQ(ReadFile(killed + "/model.onnx"), want);
  for (const auto& entry : fs::directory_iterator(killed))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
}

TEST_F(TrainBestTest, AnyCheckpointIsExported) {
  ASSERT_EQ(Train("--set checkpoint.every_steps=10 --set checkpoint.keep=100"), 0) << log_;
  const std::string model = directory_.path("exported.onnx");
  const auto out = absl::StrCat(" -o ", model);
  const std::string config = absl::StrCat(config_, " --output-dir ", output_);
  for (const std::string& subject : {output_, output_ + "/checkpoints", config}) {
    SCOPED_TRACE(subject);
    ASSERT_EQ(Onward(absl::StrCat("export ", subject, out)), 0) << log_;
    EXPECT_THAT(log_, HasSubstr(absl::StrCat("the model of step ", Best().step, " (loss ")));
    EXPECT_EQ(ReadFile(model), ReadFile(output_ + "/model.onnx"));
    ASSERT_EQ(Onward(absl::StrCat("export ", subject, out, " --checkpoint last")), 0) << log_;
    EXPECT_NEAR(LossOf(model), Evaluations().back().loss, 1e-6);
    ASSERT_EQ(Onward(absl::StrCat("export ", subject, out, " --checkpoint 40 --json")), 0) << log_;
    EXPECT_EQ(nlohmann::json::parse(log_)["step"], 40);
    EXPECT_NEAR(LossOf(model), Evaluations()[7].loss, 1e-6);
  }
}

TEST_F(TrainBestTest, WhatCannotBeExported) {
  const std::string out = " -o " + directory_.path("exported.onnx");
  EXPECT_EQ(Onward(absl::StrCat("export ", directory_.path("none"), out)), 1);
  EXPECT_EQ(Onward(absl::StrCat("export ", directory_.path(), out)), 1);
  EXPECT_THAT(log_, HasSubstr("there is no checkpoint in '"));
  ASSERT_EQ(Train("--set steps=15 --set checkpoint.every_steps=5 --set checkpoint.keep=9"), 0);
  EXPECT_EQ(Onward(absl::StrCat("export ", output_, out, " --checkpoint 7")), 1);
  EXPECT_THAT(log_, HasSubstr("no checkpoint of step 7; there are step 15 (metric "));
  EXPECT_EQ(Onward(absl::StrCat("export ", output_, out, " --checkpoint newest")), 1);
  EXPECT_THAT(log_, HasSubstr("best, last or the number of a step, not 'newest'"));
  EXPECT_EQ(Onward(absl::StrCat("export ", output_)), 2);
  // Another model than the config's.
  EXPECT_EQ(Onward(absl::StrCat("export ", config_, " --set built.options.hidden=9 --output-dir ",
                                output_, out)),
            1);
  EXPECT_THAT(
      log_, HasSubstr("of another model: 'fc1.weight' is float32[8,784] there and float32[9,784]"));
  // Damaged ones.
  for (const auto& entry : fs::directory_iterator(output_ + "/checkpoints")) {
    if (entry.path().filename().string().find("step-15") == std::string::npos) continue;
    std::fstream file(entry.path() / "state.safetensors", std::ios::in | std::ios::out);
    file.seekp(-3, std::ios::end);
    file << "x";
  }
  EXPECT_EQ(Onward(absl::StrCat("export ", output_, out, " --checkpoint 15")), 1);
  EXPECT_THAT(log_, HasSubstr("damaged: the checksum differs"));
  EXPECT_THAT(log_, HasSubstr("there are step 15"));
  EXPECT_EQ(Onward(absl::StrCat("export ", output_, out, " --checkpoint last")), 0);
  EXPECT_THAT(log_, HasSubstr("an older one is exported"));
  EXPECT_THAT(log_, HasSubstr("the model of step 10"));
}

// Without an evaluation there is no best one.
TEST_F(TrainBestTest, WithoutEvaluation) {
  ASSERT_EQ(Train("--set evaluation= --set steps=7"), 0) << log_;
  const std::string out = " -o " + directory_.path("exported.onnx");
  EXPECT_EQ(Onward(absl::StrCat("export ", output_, out, " --checkpoint best")), 1);
  EXPECT_THAT(log_, HasSubstr("no checkpoint has a metric"));
  ASSERT_EQ(Onward(absl::StrCat("export ", output_, out)), 0) << log_;
  EXPECT_EQ(ReadFile(directory_.path("exported.onnx")), ReadFile(output_ + "/model.onnx"));
}

TEST_F(TrainBestTest, ATrainingThatRunsIsExported) {
  const pid_t child = Start({"train", directory_.path("train.textproto"), "--output-dir", output_,
                             "--set", "steps=1000000"});
  ASSERT_TRUE(Until([&] { return Evaluations().size() > 2; }));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(
        Onward(absl::StrCat("export ", output_, " --checkpoint ", i % 2 == 0 ? "best" : "last",
                            " -o ", directory_.path("exported.onnx"))),
        0)
        << log_;
  }
  kill(child, SIGKILL);
  Await(child);
  EXPECT_EQ(Onward(absl::StrCat("export ", output_, " -o ", directory_.path("exported.onnx"))), 0)
      << log_;
}

}  // namespace
}  // namespace onward
