// Traces of single requests, and who chooses them.
#include "serving/request_trace.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/serving/repository_fixture.h"

namespace onward::testing {
namespace {

using ::testing::HasSubstr;

class RequestTraceTest : public RepositoryTest {
 protected:
  // The names of the events of the only file whose name ends so.
  std::multiset<std::string> Names(const std::string& ending) {
    std::multiset<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(traces_.path())) {
      const std::string path = entry.path().string();
      if (path.size() < ending.size() || path.substr(path.size() - ending.size()) != ending)
        continue;
      std::ifstream file(path);
      const json trace = json::parse(file);
      for (const json& event : trace["traceEvents"]) {
        if (event["ph"] != "X") continue;
        EXPECT_GE(event["dur"], 0) << path;
        names.insert(event["name"].get<std::string>());
      }
    }
    return names;
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(traces_.path()), {}));
  }

  ScratchDirectory traces_;
};

TEST_F(RequestTraceTest, ARequestsStagesAndSteps) {
  directory_.Write("twice/1/model.onnx", Times(2));
  trace_directory_ = traces_.path();
  StartDirectory();
  const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
  Client client(server_->port());
  const Reply reply =
      client.Ask("POST", "/v2/models/twice/infer",
                 R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})",
                 absl::StrCat("traceparent: 00-", id, "-00f067aa0ba902b7-01\r\n"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  const std::multiset<std::string> names = Names(absl::StrCat("_", id, ".json"));
  for (const char* span : {"reading", "writing"}) EXPECT_EQ(names.count(span), 1);
  EXPECT_EQ(names.count("waiting"), 2);
  EXPECT_EQ(names.size(), 5) << "one step";
  EXPECT_EQ(files(), 1);
}

TEST_F(RequestTraceTest, AdministratorsChoose) {
  directory_.Write("twice/1/model.onnx", Times(2));
  trace_directory_ = traces_.path();
  StartDirectory();
  EXPECT_EQ(Get("/v2/trace/setting"),
            json::parse(R"({"trace_file":"","trace_level":["TIMESTAMPS"],"trace_rate":"1",
                            "trace_count":"100","log_frequency":"0"})"));
  EXPECT_EQ(Post("/v2/trace/setting", R"({"trace_level":["OFF"]})")["trace_level"],
            json::array({"OFF"}));
  Infer("/v2/models/twice");
  EXPECT_EQ(files(), 0);
  const json changed =
      Post("/v2/trace/setting", R"({"trace_level":null,"trace_rate":"2","trace_count":3})");
  EXPECT_EQ(changed["trace_rate"], "2");
  EXPECT_EQ(changed["trace_count"], "3");
  for (int i = 0; i < 20; ++i) Infer("/v2/models/twice");
  EXPECT_EQ(files(), 3);
  EXPECT_EQ(Get("/v2/trace/setting")["trace_count"], "0");
  for (const char* wrong :
       {R"({"trace_level":["TENSORS"]})", R"({"trace_level":"ALL"})", R"({"trace_rate":"0"})",
        R"({"trace_count":-2})", R"({"trace_file":"/tmp/x"})", R"({"log_frequency":"5"})",
        R"({"trace_rat":"1"})", "[]"})
    EXPECT_TRUE(Post("/v2/trace/setting", wrong, 400).contains("error")) << wrong;
  EXPECT_THAT(Post("/v2/trace/setting", R"({"trace_rat":"1"})", 400)["error"].get<std::string>(),
              HasSubstr("did you mean 'trace_rate'"));
  Client stranger(server_->port());
  EXPECT_EQ(stranger.Ask("POST", "/v2/trace/setting", "{}").status, 401);
}

TEST_F(RequestTraceTest, WithoutADirectoryThereAreNone) {
  directory_.Write("twice/1/model.onnx", Times(2));
  StartDirectory();
  EXPECT_EQ(Get("/v2/trace/setting")["trace_level"], json::array({"OFF"}));
  EXPECT_THAT(Post("/v2/trace/setting", R"({"trace_level":["TIMESTAMPS"]})", 400)["error"]
                  .get<std::string>(),
              HasSubstr("--trace-dir"));
}

}  // namespace
}  // namespace onward::testing
