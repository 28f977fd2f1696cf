#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/command_output.h"
#include "tests/support/scratch_directory.h"
#include "training/log/confusion_table.h"
#include "training/log/curve_plot.h"
#include "training/log/event_file.h"
#include "training/log/metrics_file.h"

namespace onward::training {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::ScratchDirectory;

std::string FileText(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// What the independent reader says.
json ReadLog(const std::string& kind, const std::string& path) {
  const std::string command = absl::StrCat(
      "python3 ", ONWARD_SOURCE_DIR, "/tests/training/log/read_log.py ", kind, " ", path, " 2>&1");
  const testing::CommandOutput output = testing::OutputOf(command);
  EXPECT_EQ(output.exit_code, 0) << output.text;
  return json::parse(output.text, nullptr, false);
}

TEST(EventFileTest, AnIndependentReaderSeesTheSame) {
  const ScratchDirectory scratch;
  auto file = EventFile::Create(scratch.path("logs"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Scalar("train/loss", 1, 0.1).ok());
  ASSERT_TRUE((*file)->Scalar("train/loss", 1LL << 40, -INFINITY).ok());
  std::vector<float> values = {-2, 0, 0, 1e-20f, 0.5f, 3, 3.1f, NAN, INFINITY};
  ASSERT_TRUE((*file)->Histogram("w", 7, values).ok());
  ASSERT_TRUE((*file)->Histogram("none", 8, {}).ok());
  ASSERT_TRUE((*file)->Flush().ok());
  const json events = ReadLog("events", (*file)->path());
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0]["file_version"], "brain.Event:2");
  EXPECT_GT(events[0]["wall_time"], 1.7e9);
  EXPECT_EQ(events[1]["tag"], "train/loss");
  EXPECT_EQ(events[1]["step"], 1);
  EXPECT_EQ(events[1]["value"].get<float>(), 0.1f);
  EXPECT_EQ(events[2]["step"], 1LL << 40);
  EXPECT_EQ(events[2]["value"], "-inf");
  const json& histogram = events[3]["histogram"];
  EXPECT_EQ(histogram["num"], 7);
  EXPECT_EQ(histogram["min"], -2);
  EXPECT_EQ(histogram["max"].get<float>(), 3.1f);
  EXPECT_NEAR(histogram["sum"].get<double>(), 4.6, 1e-6);
  EXPECT_NEAR(histogram["sum_squares"].get<double>(), 4 + 0.25 + 9 + 9.61, 1e-5);
  // Each bucket's count is what lies between its limits.
  double below = -std::numeric_limits<double>::infinity(), total = 0;
  for (size_t i = 0; i < histogram["bucket"].size(); ++i) {
    const double limit = histogram["bucket_limit"][i];
    EXPECT_GT(limit, below);
    EXPECT_EQ(histogram["bucket"][i], std::count_if(values.begin(), values.end(), [&](float x) {
                return std::isfinite(x) && x >= below && x < limit;
              }));
    total += histogram["bucket"][i].get<double>();
    below = limit;
  }
  EXPECT_EQ(total, 7);
  // Empty ones only between values, and one before them.
  EXPECT_EQ(histogram["bucket"][0], 0);
  EXPECT_EQ(histogram["bucket"][1], 1);
  EXPECT_NE(histogram["bucket"].back(), 0);
  EXPECT_EQ(events[4]["histogram"]["num"], 0);
  const auto second = EventFile::Create(scratch.path("logs"));
  ASSERT_TRUE(second.ok());
  EXPECT_NE((*second)->path(), (*file)->path());
  EXPECT_FALSE(EventFile::Create("/proc/none").ok());
}

// A training that was interrupted in an evaluation makes it when it resumes, and is killed; the
// next one resumes after the same step.
TEST(EventFileTest, ResumingKeepsAnEvaluationThatWasDue) {
  const ScratchDirectory scratch;
  const std::string logs = scratch.path("logs");
  auto file = EventFile::Create(logs);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Scalar("train/loss", 20, 1).ok());
  ASSERT_TRUE((*file)->Flush().ok());
  auto resumed = EventFile::Continue(logs, 20, /*evaluated=*/false);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  ASSERT_TRUE((*resumed)->Scalar("evaluation/loss", 20, 2).ok());
  ASSERT_TRUE((*resumed)->Scalar("train/loss", 21, 1).ok());
  ASSERT_TRUE((*resumed)->Flush().ok());
  ASSERT_TRUE(EventFile::Continue(logs, 20, /*evaluated=*/true).ok());
  json kept = json::array();
  for (const json& event : ReadLog("events", (*resumed)->path()))
    if (event.contains("tag")) kept.push_back({event["tag"], event["step"]});
  EXPECT_EQ(kept, json::parse(R"([["evaluation/loss", 20]])"));
  EXPECT_EQ(ReadLog("events", (*file)->path()).back()["tag"], "train/loss");
  // Not made in the end: the evaluation is due again.
  ASSERT_TRUE(EventFile::Continue(logs, 20, /*evaluated=*/false).ok());
  for (const json& event : ReadLog("events", (*resumed)->path()))
    EXPECT_FALSE(event.contains("tag")) << event;
}

TEST(MetricsFileTest, NumbersInFullPrecision) {
  const ScratchDirectory scratch;
  auto file = MetricsFile::Create(scratch.path("m"));
  ASSERT_TRUE(file.ok());
  const double loss = 0.1 + 0.2;
  ASSERT_TRUE(
      file->Write(
              {{"step", 1}, {"loss", loss}, {"more", {{"x", NAN}, {"y", {INFINITY, -INFINITY}}}}})
          .ok());
  const json line = json::parse(FileText(scratch.path("m")));
  EXPECT_EQ(line["loss"].get<double>(), loss);
  EXPECT_EQ(line["more"].dump(), R"({"x":"nan","y":["inf","-inf"]})");
  EXPECT_FALSE(MetricsFile::Create(scratch.path("none/m")).ok());
}

TEST(MetricsFileTest, ContinuesAfterAStep) {
  const ScratchDirectory scratch;
  const std::string head = "{\"run\":1}\n{\"step\":1}\n{\"step\":2}\n";
  for (const std::string tail :
       {"", "{\"step\":3}\n{\"step\":4}\n", "{\"step\":3", "{\"step\"", "garbage\n"}) {
    auto file = MetricsFile::Continue(scratch.Write("m", head + tail), 2);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Write({{"step", 3}}).ok());
    EXPECT_EQ(FileText(scratch.path("m")), head + "{\"step\":3}\n");
  }
  auto fresh = MetricsFile::Continue(scratch.path("new"), 2);
  ASSERT_TRUE(fresh.ok());
  ASSERT_TRUE(fresh->Write({{"step", 3}}).ok());
  EXPECT_EQ(FileText(scratch.path("new")), "{\"step\":3}\n");
}

TEST(CurvePlotTest, IsWellFormedXml) {
  const ScratchDirectory scratch;
  CurvePlot plot{.title = "loss <a> & \"b\" \x01", .x_label = "step", .y_label = "loss"};
  Curve curve{"train", {}};
  for (int i = 0; i < 100000; ++i)
    curve.points.push_back({i, i == 500 ? NAN : 2 + std::sin(i * 0.001)});
  plot.curves = {curve, {"validation", {{0, 3}, {99999, 1}}}};
  const std::string text = DrawSvg(plot);
  EXPECT_LT(text.size(), 100000u);
  const json nodes = ReadLog("svg", scratch.Write("plot.svg", text));
  std::vector<std::string> curves;
  bool titled = false;
  for (const json& node : nodes) {
    if (node[1].value("class", "") == "curve") curves.push_back(node[1]["d"]);
    titled =
        titled || (node[2].is_string() && node[2].get<std::string>().find("loss <a> & \"b\"") == 0);
  }
  EXPECT_TRUE(titled);
  ASSERT_EQ(curves.size(), 2u);
  // The gap begins a new line. The second curve goes from the top left to the bottom right.
  EXPECT_EQ(std::count(curves[0].begin(), curves[0].end(), 'M'), 2);
  EXPECT_EQ(curves[1], "M70.0 40.0L780.0 430.0");
}

TEST(CurvePlotTest, OddCurves) {
  const ScratchDirectory scratch;
  for (const std::vector<std::pair<double, double>>& points :
       std::vector<std::vector<std::pair<double, double>>>{{},
                                                           {{1, 1}},
                                                           {{1, NAN}},
                                                           {{1, 5}, {2, 5}},
                                                           {{0, 1e300}, {1, -1e300}},
                                                           {{0, 1e-300}, {1e300, INFINITY}}}) {
    for (const bool logarithmic : {false, true}) {
      const std::string text = DrawSvg({"t", "x", "y", {{"c", points}}, logarithmic});
      EXPECT_EQ(text.find("nan"), std::string::npos) << text;
      EXPECT_FALSE(ReadLog("svg", scratch.Write("plot.svg", text)).is_discarded());
    }
  }
}

TEST(ConfusionTableTest, CountsRecallAndPrecision) {
  const Confusion confusion = {{{0, 0}, 8}, {{0, 1}, 2}, {{1, 1}, 5}, {{2, 1}, 3}};
  EXPECT_EQ(ConfusionTable(confusion, {"cat", "d\xc3\xb6g"}),
            "               cat      d\xc3\xb6g        2   recall\n"
            "      cat        8        2        0   80.0 %\n"
            "      d\xc3\xb6g        0        5        0  100.0 %\n"
            "        2        0        3        0    0.0 %\n"
            "precision  100.0 %   50.0 %        -\n");
  const std::string frequent = ConfusionTable(confusion, {}, 2);
  EXPECT_EQ(frequent, "most frequent confusions\n  3 of 2 taken for 1\n  2 of 0 taken for 1\n");
}

}  // namespace
}  // namespace onward::training
