// Statistics and metrics: counts after known traffic are those of the protocol's section 12.
#include <gtest/gtest.h>

#include <sstream>

#include "serving/statistics/model_statistics.h"
#include "serving/statistics/prometheus.h"
#include "tests/serving/repository_fixture.h"

namespace onward::serving {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StatisticsTest : public onward::testing::RepositoryTest {
 protected:
  // The value of a line of metrics, or "".
  std::string Metric(const std::string& series) {
    std::istringstream text(Ask("GET", "/metrics", "", 200));
    for (std::string line; std::getline(text, line);)
      if (line.rfind(series + " ", 0) == 0) return line.substr(series.size() + 1);
    return "";
  }
};

TEST_F(StatisticsTest, CountsAfterKnownTraffic) {
  directory_.Write("m/1/model.onnx", onward::testing::Times(3));
  directory_.Write("other/1/model.onnx", onward::testing::Times(4));
  StartDirectory();
  const json before = Get("/v2/models/m/stats")["model_stats"][0];
  EXPECT_EQ(before["inference_count"], 0);
  EXPECT_EQ(before["last_inference"], 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Infer("/v2/models/m").first, 3);
  EXPECT_EQ(Infer("/v2/models/m/versions/1", 5).first, 3);
  Post("/v2/models/m/infer", "{", 400);
  Post("/v2/models/m/infer", R"({"inputs":[]})", 400);

  const json all = Get("/v2/models/stats")["model_stats"];
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[1]["name"], "other");
  EXPECT_EQ(all[1]["inference_count"], 0);
  const json stats = Get("/v2/models/m/versions/1/stats")["model_stats"];
  ASSERT_EQ(stats.size(), 1);
  const json& m = stats[0];
  EXPECT_EQ(m["name"], "m");
  EXPECT_EQ(m["version"], "1");
  EXPECT_EQ(m["inference_count"], 3 + 5);
  EXPECT_EQ(m["execution_count"], 4);
  EXPECT_GT(m["last_inference"].get<int64_t>(), int64_t{1'600'000'000'000});
  const json& inference = m["inference_stats"];
  for (const char* key : {"success", "queue", "compute_input", "compute_infer", "compute_output"}) {
    EXPECT_EQ(inference[key]["count"], 4) << key;
    EXPECT_GT(inference[key]["ns"], 0) << key;
  }
  EXPECT_EQ(inference["fail"]["count"], 2);
  EXPECT_EQ(inference["cache_hit"], json({{"count", 0}, {"ns", 0}}));
  EXPECT_EQ(inference["cache_miss"], json({{"count", 0}, {"ns", 0}}));
  EXPECT_GE(
      inference["success"]["ns"].get<int64_t>(),
      inference["queue"]["ns"].get<int64_t>() + inference["compute_infer"]["ns"].get<int64_t>());
  ASSERT_EQ(m["batch_stats"].size(), 2);
  EXPECT_EQ(m["batch_stats"][0]["batch_size"], 1);
  EXPECT_EQ(m["batch_stats"][0]["compute_infer"]["count"], 3);
  EXPECT_EQ(m["batch_stats"][1]["batch_size"], 5);
  EXPECT_EQ(m["batch_stats"][1]["compute_output"]["count"], 1);
  EXPECT_EQ(m["response_stats"], json::object());
  Get("/v2/models/nobody/stats", 404);
  Get("/v2/models/m/versions/2/stats", 404);
}

TEST_F(StatisticsTest, MetricsOfPrometheus) {
  directory_.Write("m/1/model.onnx", onward::testing::Times(3));
  StartDirectory();
  Infer("/v2/models/m", 4);
  Infer("/v2/models/m");
  Post("/v2/models/m/infer", "{", 400);
  const std::string labels = R"({model="m",version="1"})";
  EXPECT_EQ(Metric("nv_inference_request_success" + labels), "2");
  EXPECT_EQ(Metric(R"(nv_inference_request_failure{model="m",version="1",reason="OTHER"})"), "1");
  EXPECT_EQ(Metric(R"(nv_inference_request_failure{model="m",version="1",reason="REJECTED"})"),
            "0");
  EXPECT_EQ(Metric("nv_inference_count" + labels), "5");
  EXPECT_EQ(Metric("nv_inference_exec_count" + labels), "2");
  EXPECT_EQ(Metric("nv_inference_pending_request_count" + labels), "0");
  for (const char* name : {"request", "queue", "compute_input", "compute_infer", "compute_output"})
    EXPECT_NE(Metric(absl::StrCat("nv_inference_", name, "_duration_us", labels)), "") << name;
  for (const char* name : {"request", "queue", "compute"}) {
    const std::string full = absl::StrCat("onward_", name, "_duration_seconds");
    EXPECT_EQ(Metric(full + R"(_bucket{model="m",version="1",le="+Inf"})"), "2");
    EXPECT_EQ(Metric(full + R"(_bucket{model="m",version="1",le="30"})"), "2");
    EXPECT_EQ(Metric(full + "_count" + labels), "2");
    EXPECT_GT(std::stod(Metric(full + "_sum" + labels)), 0.0);
  }
  EXPECT_GT(std::stoll(Metric("process_resident_memory_bytes")), 1'000'000);
  onward::testing::Client client(server_->port());
  const onward::testing::Reply reply = client.Ask("GET", "/metrics");
  EXPECT_THAT(reply.head, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(reply.body, HasSubstr("# TYPE onward_request_duration_seconds histogram\n"));
  EXPECT_THAT(reply.body, HasSubstr("# TYPE nv_inference_count counter\n"));
}

TEST(ModelStatisticsTest, CountersStayWhileModelsCome) {
  ModelStatistics statistics;
  statistics.AddPending(2);
  statistics.AddPending(-1);
  // Two requests of 1 and 3 rows that ran as one batch.
  const RequestTimes times = {1000, 100, 10, 500, 20};
  statistics.RecordExecution(4, times);
  statistics.RecordSuccess(1, times);
  statistics.RecordSuccess(3, times);
  statistics.RecordFailure(Failure::kRejected, 7);
  const StatisticsSnapshot read = statistics.Read();
  EXPECT_EQ(read.inference_count, 4);
  EXPECT_EQ(read.execution_count, 1);
  EXPECT_EQ(read.success.count, 2);
  EXPECT_EQ(read.success.ns, 2000);
  EXPECT_EQ(read.queue.ns, 200);
  EXPECT_EQ(read.compute.compute_infer.ns, 1000);
  EXPECT_EQ(read.batches.at(4).compute_infer.ns, 500);
  EXPECT_EQ(read.fail.ns, 7);
  EXPECT_EQ(read.pending, 1);
}

TEST(ModelStatisticsTest, ReasonsOfFailures) {
  EXPECT_STREQ(FailureName(FailureOf(absl::UnavailableError(""))), "REJECTED");
  EXPECT_STREQ(FailureName(FailureOf(absl::ResourceExhaustedError(""))), "REJECTED");
  EXPECT_STREQ(FailureName(FailureOf(absl::CancelledError())), "CANCELED");
  EXPECT_STREQ(FailureName(FailureOf(absl::InternalError(""))), "BACKEND");
  EXPECT_STREQ(FailureName(FailureOf(absl::InvalidArgumentError(""))), "OTHER");
}

TEST(DurationHistogramTest, BordersAreInclusive) {
  DurationHistogram histogram;
  for (const int64_t nanoseconds : {int64_t{0}, int64_t{50'000}, int64_t{50'001},
                                    int64_t{30'000'000'000}, int64_t{30'000'000'001}})
    histogram.Add(nanoseconds);
  EXPECT_EQ(histogram.bucket(0), 2);
  EXPECT_EQ(histogram.bucket(1), 1);
  EXPECT_EQ(histogram.bucket(DurationHistogram::kBorders.size() - 1), 1);
  EXPECT_EQ(histogram.count(), 5);
}

TEST(PrometheusTest, LabelsAreEscaped) {
  EXPECT_EQ(EscapedLabel("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
  const auto statistics = std::make_shared<ModelStatistics>();
  EXPECT_THAT(PrometheusText({{"a\"b", "1", statistics}}),
              HasSubstr("nv_inference_count{model=\"a\\\"b\",version=\"1\"} 0\n"));
  EXPECT_THAT(PrometheusText({}), Not(HasSubstr("{")));
}

}  // namespace
}  // namespace onward::serving
