// onward train: what it leaves, what it refuses, and that a killed training resumes bit for bit.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "executors/provider.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/train_fixture.h"
#include "tests/support/test_data.h"

namespace onward {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::ReadFile;
using testing::TrainCommandTest;

TEST_F(TrainCommandTest, LeavesMetricsCheckpointsCurveAndModel) {
  const std::string output = directory_.path("out");
  ASSERT_EQ(Call(absl::StrCat(config_, " --output-dir ", output, " --set log.tensorboard=true")), 0)
      << log_;
  EXPECT_THAT(log_, HasSubstr("60 of 60 steps; the trained model is "));
  EXPECT_THAT(log_, HasSubstr("recall"));
  std::ifstream metrics(output + "/metrics.jsonl");
  int steps = 0, evaluations = 0;
  for (std::string line; std::getline(metrics, line);) {
    const auto document = nlohmann::json::parse(line);
    if (document.contains("evaluation")) {
      ++evaluations;
    } else {
      EXPECT_EQ(document["step"], ++steps);
      EXPECT_TRUE(document["loss"].is_number_float());
    }
  }
  EXPECT_EQ(steps, 60);
  EXPECT_EQ(evaluations, 3);
  for (const char* file : {"loss.svg", "model.onnx", "checkpoints", "tensorboard"})
    EXPECT_TRUE(std::filesystem::exists(output + "/" + file)) << file;
}

// What the independent reader says of the one TensorBoard file of a training.
nlohmann::json Events(const std::string& output) {
  const std::string file = std::filesystem::directory_iterator(output + "/tensorboard")->path();
  const std::string text = output + "/events.json";
  EXPECT_EQ(std::system(absl::StrCat("python3 ", ONWARD_SOURCE_DIR,
                                     "/tests/training/log/read_log.py events ", file, " >", text)
                            .c_str()),
            0);
  return nlohmann::json::parse(ReadFile(text));
}

TEST_F(TrainCommandTest, HistogramsScalesAndNormsAreRecorded) {
  const std::string output = directory_.path("out");
  ASSERT_EQ(Call(absl::StrCat(config_, " --output-dir ", output,
                              " --set log.tensorboard=true --set log.histogram_steps=20"
                              " --set log.gradient_norms=true --set precision.autocast=FLOAT16"
                              " --set precision.loss_scale=16777216 --set "
                              "precision.arithmetic=STRICT --set log.detect_anomaly=true")),
            0)
      << log_;
  std::ifstream metrics(output + "/metrics.jsonl");
  int skipped = 0, lines = 0;
  for (std::string line; std::getline(metrics, line);) {
    const auto document = nlohmann::json::parse(line);
    if (document.contains("evaluation")) continue;
    EXPECT_EQ(document["loss_scale"].get<double>(), std::ldexp(1, 24 - skipped));
    skipped += document.value("skipped", false) ? 1 : 0;
    EXPECT_EQ(document["skipped_steps"], skipped);
    ++lines;
  }
  EXPECT_EQ(lines, 60);
  EXPECT_GT(skipped, 0);
  std::map<std::string, int> histograms, scalars;
  for (const nlohmann::json& event : Events(output)) {
    if (event.contains("histogram")) {
      ++histograms[event["tag"]];
      if (event["tag"] == "weight/fc1.weight" || event["tag"] == "gradient/fc1.weight") {
        EXPECT_EQ(event["histogram"]["num"], 8 * 784);
      }
    } else if (event.contains("tag")) {
      ++scalars[event["tag"]];
    }
  }
  EXPECT_EQ(histograms["weight/fc1.weight"], 3);
  EXPECT_EQ(histograms["gradient/fc1.weight"], 3);
  EXPECT_EQ(scalars["gradient_norm/fc1.weight"], 60);
  EXPECT_EQ(scalars["train/loss_scale"], 60);
  EXPECT_EQ(Call(absl::StrCat(config_, " --set log.histogram_steps=2")), 1);
  EXPECT_THAT(log_, HasSubstr("needs log.tensorboard"));
}

TEST_F(TrainCommandTest, EachGroupsRateIsRecorded) {
  const std::string output = directory_.path("out");
  const std::string group = " --set \"optimizer.group={ most_rank: 1 adam { lr: 0.25 } }\"";
  ASSERT_EQ(Call(absl::StrCat(config_, " --output-dir ", output, " --set steps=2", group)), 0)
      << log_;
  std::ifstream metrics(output + "/metrics.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(metrics, line));
  const auto document = nlohmann::json::parse(line);
  EXPECT_EQ(document["lr"], 0.01);
  EXPECT_EQ(document["lr_groups"], (nlohmann::json{{"group0", 0.25}, {"default", 0.01}}));
}

TEST_F(TrainCommandTest, SaysOnceThatFloat16ComputesInFloat32) {
  const std::string run = absl::StrCat(config_, " --set steps=2 --set precision.autocast=FLOAT16",
                                       " --output-dir ", directory_.path("out"));
  ASSERT_EQ(Call(run), 0) << log_;
  const std::string text = "the cpu computes in float32 between what autocast rounds";
  EXPECT_THAT(log_, HasSubstr(text));
  EXPECT_EQ(log_.find(text), log_.rfind(text));
  ASSERT_EQ(Call(absl::StrCat(run, "_strict --set precision.arithmetic=STRICT")), 0) << log_;
  EXPECT_THAT(log_, ::testing::Not(HasSubstr(text)));
}

TEST_F(TrainCommandTest, CommonOptionsGoBeforeTheConfig) {
  const auto train = [&](const std::string& arguments) {
    const std::string output = directory_.path("options");
    std::filesystem::remove_all(output);
    EXPECT_EQ(Call(absl::StrCat(config_, " --set steps=5 --output-dir ", output, arguments)), 0)
        << log_;
    return ReadFile(output + "/model.onnx");
  };
  const std::string plain = train("");
  EXPECT_NE(plain, train(" --seed 3"));
  EXPECT_EQ(plain, train(" --set seed=3 --seed 0"));
  EXPECT_EQ(train(" --set precision.arithmetic=STRICT"), train(" --precision strict"));
  EXPECT_EQ(train(" --set precision.arithmetic=FAST"), train(" --precision fast"));
  EXPECT_EQ(plain, train(" --max-memory 1GB"));
  EXPECT_EQ(
      Call(absl::StrCat(config_, " --max-memory 20KB --output-dir ", directory_.path("memory"))),
      1);
  EXPECT_THAT(log_, HasSubstr("above the limit of 20"));
}

TEST_F(TrainCommandTest, DeterministicForAnyNumberOfThreads) {
  std::string text = ReadFile(config_);
  const std::string mlp = R"(name: "mlp" options { key: "hidden" value: 8 })";
  ASSERT_THAT(text, HasSubstr(mlp));
  text.replace(text.find(mlp), mlp.size(), "name: \"mnist_cnn\"");
  const std::string config = directory_.Write("cnn.textproto", text);
  const auto train = [&](const std::string& arguments) {
    const std::string output = directory_.path("threads");
    std::filesystem::remove_all(output);
    EXPECT_EQ(Call(absl::StrCat(config, " --set steps=3 --set batch_size=16 --output-dir ", output,
                                arguments)),
              0)
        << log_;
    return ReadFile(output + "/model.onnx");
  };
  const std::string one = train(" --deterministic --threads 1");
  EXPECT_THAT(log_, HasSubstr("deterministic: without cost, as there is nothing to switch off"));
  EXPECT_EQ(one, train(" --deterministic --threads 2"));
  EXPECT_EQ(one, train(" --deterministic --threads 3"));
  EXPECT_EQ(one, train(" --threads 4"));
}

TEST_F(TrainCommandTest, JsonIsOneDocument) {
  const std::string output = directory_.path("json"), document = directory_.path("document");
  const std::string command =
      absl::StrCat(ONWARD_PROGRAM, " train ", config_, " --json --output-dir ", output,
                   " 2>/dev/null >", document);
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto result = nlohmann::json::parse(ReadFile(document));
  EXPECT_EQ(result["steps"], 60);
  EXPECT_EQ(result["total_steps"], 60);
  EXPECT_EQ(result["skipped_steps"], 0);
  EXPECT_EQ(result["evaluation"]["examples"], 40);
  EXPECT_TRUE(result["loss"].is_number_float());
  EXPECT_TRUE(std::filesystem::exists(result["model"].get<std::string>()));
}

TEST_F(TrainCommandTest, ProfileHasTheMemoryOfItsBatches) {
  const std::string trace = directory_.path("trace.json");
  ASSERT_EQ(Call(absl::StrCat(config_, " --set steps=12 --profile ", trace, " --output-dir ",
                              directory_.path("out"))),
            0)
      << log_;
  EXPECT_THAT(log_, HasSubstr("values and scratch of a step take "));
  const auto document = nlohmann::json::parse(ReadFile(trace));
  int64_t peak = 0;
  size_t counters = 0;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] != "C") continue;
    ++counters;
    peak = std::max(peak, event["args"]["live_bytes"].get<int64_t>());
  }
  EXPECT_EQ(counters * 2, document["traceEvents"].size());
  EXPECT_EQ(counters % 10, 0u);
  EXPECT_EQ(document["otherData"]["peak_live_bytes"], peak);
  EXPECT_GT(peak, 0);
}

TEST_F(TrainCommandTest, ProfileHasTheUpdateOfAccumulatedGradients) {
  const std::string trace = directory_.path("trace.json");
  ASSERT_EQ(Call(absl::StrCat(config_, " --set steps=12 --set accumulate=2 --profile ", trace,
                              " --output-dir ", directory_.path("out"))),
            0)
      << log_;
  const auto document = nlohmann::json::parse(ReadFile(trace));
  std::map<std::string, int> ops;
  for (const auto& event : document["traceEvents"])
    if (event["ph"] == "X") ++ops[event["args"]["op"].get<std::string>()];
  EXPECT_EQ(ops["SoftmaxCrossEntropyLoss"], 10);
  EXPECT_EQ(ops["AdamStep"] % 5, 0);
  EXPECT_GT(ops["AdamStep"], 0);
}

TEST_F(TrainCommandTest, ProfileIsOfTheBatchesThatAreAskedFor) {
  const std::string trace = directory_.path("trace.json");
  const std::string run =
      absl::StrCat(config_, " --set steps=12 --profile ", trace,
                   " --profile-batches 4 --overwrite --output-dir ", directory_.path("out"));
  ASSERT_EQ(Call(run + " --profile-from 9"), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("the profile of batches 9 to 12 is "));
  const auto document = nlohmann::json::parse(ReadFile(trace));
  int losses = 0;
  for (const auto& event : document["traceEvents"])
    losses += event["ph"] == "X" && event["args"]["op"] == "SoftmaxCrossEntropyLoss";
  EXPECT_EQ(losses, 4);
  ASSERT_EQ(Call(run + " --profile-from 13"), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("warning: the training ended before batch 13, and its profile is "
                              "empty"));
  EXPECT_EQ(Call(run + " --profile-from 0"), 2) << log_;
}

// One of ten lines is not a number.
TEST_F(TrainCommandTest, BrokenLinesAreCounted) {
  std::string lines = "a,b,label\n";
  for (int i = 0; i < 40; ++i)
    absl::StrAppend(&lines, i % 10 == 3 ? "x" : "0.5", ",", i % 4, ",", i % 3, "\n");
  directory_.Write("lines.csv", lines);
  const std::string config = directory_.Write("lines.textproto", R"(
      built { name: "mlp" options { key: "features" value: 2 } options { key: "hidden" value: 4 } }
      loss { cross_entropy {} } optimizer { sgd { lr: 0.01 } }
      data {
        csv { path: "lines.csv" field { name: "features" column: ["a", "b"] }
              field { name: "label" element: INT64 } }
        skip_broken: true shuffle: false
      }
      batch_size: 4 epochs: 2
  )");
  ASSERT_EQ(Call(absl::StrCat(config, " --output-dir ", directory_.path("out"))), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("20 of 20 steps, broken examples left out 8 times; the trained"));
  EXPECT_EQ(Call(absl::StrCat(config, " --set data.skip_broken=false --output-dir ",
                              directory_.path("strict"))),
            1);
  EXPECT_THAT(log_, HasSubstr("line 5: column 0, field 'features': 'x' is not a number"));
}

// Files may not grow beyond 40 kB: as on a full disk, metrics and checkpoints fail on the way.
TEST_F(TrainCommandTest, GoesOnWhereTheDiskIsFull) {
  const std::string output = directory_.path("out"), log = directory_.path("log");
  const std::string command =
      absl::StrCat("ulimit -f 80; trap '' XFSZ; ", ONWARD_PROGRAM, " train ", config_,
                   " --set steps=400 --set checkpoint.every_steps=100"
                   " --set checkpoint.wait_seconds=1 --output-dir ",
                   output, " >", log, " 2>&1");
  const int status = std::system(absl::StrCat("sh -c \"", command, "\"").c_str());
  log_ = ReadFile(log);
  EXPECT_EQ(WEXITSTATUS(status), 0) << log_;
  EXPECT_THAT(log_, HasSubstr("metrics.jsonl': File too large; the training continues without it"));
  EXPECT_THAT(log_, HasSubstr("the checkpoint was not written"));
  EXPECT_THAT(log_, HasSubstr("400 of 400 steps"));
  EXPECT_TRUE(std::filesystem::exists(output + "/model.onnx"));
  std::ifstream metrics(output + "/metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines)
    EXPECT_TRUE(nlohmann::json::parse(line, nullptr, false).is_object()) << line;
  EXPECT_GT(lines, 50);
}

TEST_F(TrainCommandTest, EvaluateGivesWhatTheTrainingSaw) {
  const std::string output = directory_.path("out");
  ASSERT_EQ(Call(absl::StrCat(config_, " --output-dir ", output)), 0) << log_;
  std::ifstream metrics(output + "/metrics.jsonl");
  nlohmann::json last;
  for (std::string line; std::getline(metrics, line);) {
    const auto document = nlohmann::json::parse(line);
    if (document.contains("evaluation")) last = document["evaluation"];
  }
  const std::string model = output + "/model.onnx", log = directory_.path("log");
  for (const std::string& subject :
       {absl::StrCat(config_, " --model ", model),
        absl::StrCat(model,
                     " --batch-size 40 --data 'mnist { images: \"images\" labels: \"labels\" }'"
                     " --data-dir ",
                     directory_.path())}) {
    const int status = std::system(
        absl::StrCat(ONWARD_PROGRAM, " evaluate --json ", subject, " >", log, " 2>&1").c_str());
    ASSERT_EQ(status, 0) << ReadFile(log);
    const auto document = nlohmann::json::parse(ReadFile(log));
    EXPECT_NEAR(document["loss"], last["loss"], 1e-6);
    EXPECT_EQ(document["accuracy"], last["accuracy"]);
    EXPECT_EQ(document["examples"], 40);
  }
}

TEST_F(TrainCommandTest, AKilledTrainingGoesOnBitForBit) {
  const std::string whole = directory_.path("whole");
  ASSERT_EQ(Call(absl::StrCat(config_, " --output-dir ", whole)), 0) << log_;
  const std::string want = ReadFile(whole + "/model.onnx");
  ASSERT_FALSE(want.empty());
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  // A checkpoint is written after every step: most moments lie within a save. Until 200 processes
  // were killed, trainings are begun anew whenever one comes to its end.
  int kills = 0, ended = 0;
  for (int training = 0; kills < 200; ++training) {
    const std::string output = directory_.path(absl::StrCat("killed", training));
    int status = -1;
    while (status != 0 && kills < 200) {
      const pid_t child = Start(
          {"train", config_, "--output-dir", output, "--resume", "--set", "checkpoint.keep=2"});
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 120000));
      kill(child, SIGKILL);
      status = Await(child);
      ASSERT_LE(status, 0) << "a training ended with an error";
      kills += status == -SIGKILL;
    }
    if (status != 0) {
      ASSERT_EQ(Call(absl::StrCat(config_, " --resume --output-dir ", output)), 0);
    }
    ++ended;
    EXPECT_EQ(ReadFile(output + "/model.onnx"), want);
  }
  EXPECT_GT(ended, 0);
}

// The configs of examples/, shortened, on the real data: loss falls below what guessing gives.
TEST_F(TrainCommandTest, ExamplesTrain) {
  const std::string directory = testing::DirectoryFrom("ONWARD_DATA_DIR");
  ONWARD_NEEDS_DATA(directory, "ONWARD_DATA_DIR");
  const std::string data = directory + "/data";
  struct Example {
    const char *name, *data, *changes;
    double loss;
  };
  const Example examples[] = {
      {"mnist", "mnist", "--set epochs= --set steps=60 --set evaluation.data.part.limit=500", 0.7},
      {"cifar10", "cifar10",
       "--set epochs= --set steps=12 --set batch_size=32 --set schedule.warmup=4 "
       "--set evaluation.data.part.limit=200 --set evaluation.batch_size=100",
       2.6},
      {"chargpt", "tinyshakespeare",
       "--set steps=60 --set evaluation.every_steps=60 --set evaluation.data.part.limit=64", 3.0},
  };
  for (const Example& each : examples) {
    SCOPED_TRACE(each.name);
    const std::string output = directory_.path(each.name);
    ASSERT_EQ(Call(absl::StrCat(ONWARD_SOURCE_DIR, "/examples/", each.name,
                                "/train.textproto --data-dir ", data, "/", each.data,
                                " --output-dir ", output, " ", each.changes)),
              0)
        << log_;
    std::ifstream metrics(output + "/metrics.jsonl");
    double loss = 1e9;
    for (std::string line; std::getline(metrics, line);) {
      const auto document = nlohmann::json::parse(line);
      if (document.contains("evaluation")) loss = document["evaluation"]["loss"];
    }
    EXPECT_LT(loss, each.loss);
  }
}

TEST_F(TrainCommandTest, Refusals) {
  EXPECT_EQ(Call(absl::StrCat(config_, " --set batch_sise=3")), 1);
  EXPECT_THAT(log_, HasSubstr("batch_sise: no such field; did you mean batch_size? "));
  EXPECT_EQ(Call(directory_.path("no.textproto")), 1);
  EXPECT_THAT(log_, HasSubstr("cannot open the config"));
  EXPECT_EQ(Call(absl::StrCat(config_, " --set data.mnist.images=missing --output-dir ",
                              directory_.path("out"))),
            1);
  EXPECT_THAT(log_, HasSubstr("missing"));
  if (!executors::FindProvider("cuda").ok()) {
    EXPECT_EQ(Call(absl::StrCat(config_, " --provider cuda --output-dir ", directory_.path("gpu"))),
              1);
    EXPECT_THAT(log_, AnyOf(HasSubstr("cuda"), HasSubstr("CUDA")));
  }
  EXPECT_EQ(Call(absl::StrCat(config_, " --output-dir /proc/none")), 1);
  EXPECT_THAT(log_, HasSubstr("cannot make the output directory '/proc/none'"));
}

}  // namespace
}  // namespace onward
