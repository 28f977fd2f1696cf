// Models that come, change and go while the server runs, as clients see it.
#include "serving/model_repository.h"

#include <atomic>
#include <fstream>
#include <future>

#include "absl/strings/escaping.h"
#include "tests/serving/repository_fixture.h"
#include "tests/serving/text/one_row.h"
#include "tests/serving/text_fixture.h"

namespace onward::serving {
namespace {

using onward::testing::Client;
using onward::testing::ModelBytes;
using onward::testing::Times;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

class ModelRepositoryTest : public onward::testing::RepositoryTest {
 protected:
  json Index(const std::string& body = "") { return Post("/v2/repository/index", body); }
  // The index once nobody has what was unloaded.
  json SettledIndex() {
    for (int i = 0; i < 1000 && Index()[0]["state"] == "UNLOADING"; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Index();
  }
  std::string LoadError(const std::string& name, const std::string& body, int status) {
    const json reply = Post("/v2/repository/models/" + name + "/load", body, status);
    const std::string error = reply.is_object() ? reply.value("error", "") : "";
    EXPECT_THAT(error, Not(HasSubstr(directory_.path())));
    return error;
  }
};

TEST_F(ModelRepositoryTest, IndexLoadAndUnload) {
  directory_.Write("a/1/model.onnx", Times(2));
  StartDirectory();
  EXPECT_EQ(Get("/v2")["extensions"],
            json({"binary_tensor_data", "classification", "parameters", "model_configuration",
                  "schedule_policy", "statistics", "sequence", "sequence(string_id)",
                  "model_repository", "logging", "trace"}));
  const json ready = {{{"name", "a"}, {"version", "1"}, {"state", "READY"}}};
  EXPECT_EQ(Index(), ready);
  EXPECT_EQ(Index("{}"), ready);
  EXPECT_EQ(Post("/v2/repository/mine/index", R"({"ready":true})"), ready);
  EXPECT_THAT(Post("/v2/repository/index", R"({"ready":1})", 400)["error"], HasSubstr("ready"));
  Post("/v2/repository/index", "[1]", 400);

  EXPECT_EQ(Ask("POST", "/v2/repository/models/a/unload",
                R"({"parameters":{"unload_dependents":false}})", 200),
            "");
  const json index = SettledIndex();
  EXPECT_EQ(index[0]["state"], "UNAVAILABLE");
  EXPECT_EQ(index[0]["reason"], "unloaded");
  EXPECT_EQ(Index(R"({"ready":true})"), json::array());
  EXPECT_EQ(Get("/v2/models")["models"], json::array());
  EXPECT_THAT(Get("/v2/models/a", 503)["error"], HasSubstr("unloaded"));
  const json not_ready = Get("/v2/models/a/ready", 503);
  EXPECT_EQ(not_ready["name"], "a");
  EXPECT_EQ(not_ready["ready"], false);
  EXPECT_THAT(not_ready["error"], HasSubstr("not ready"));
  Ask("POST", "/v2/repository/models/a/unload", "", 200);
  Ask("POST", "/v2/repository/models/b/unload", "", 404);

  EXPECT_EQ(Ask("POST", "/v2/repository/models/a/load", "{}", 200), "");
  EXPECT_THAT(Infer("/v2/models/a"), Pair(2, "1"));
  // A model that came after the server began.
  LoadError("b", "", 404);
  directory_.Write("b/1/model.onnx", Times(5));
  EXPECT_EQ(Ask("POST", "/v2/repository/mine/models/b/load", "", 200), "");
  EXPECT_THAT(Infer("/v2/models/b"), Pair(5, "1"));
}

TEST_F(ModelRepositoryTest, AReloadTakesTheNewFileAndAFailedOneLeavesTheOld) {
  directory_.Write("a/1/model.onnx", Times(2));
  StartDirectory();
  directory_.Write("a/1/model.onnx", Times(3));
  EXPECT_EQ(Infer("/v2/models/a").first, 2);
  LoadError("a", "", 200);
  EXPECT_EQ(Infer("/v2/models/a").first, 3);
  directory_.Write("a/1/model.onnx", "no model");
  EXPECT_THAT(LoadError("a", "", 400), HasSubstr("model 'a', version 1: '1/model.onnx'"));
  EXPECT_EQ(Infer("/v2/models/a").first, 3);
  json index = Index();
  EXPECT_EQ(index[0]["state"], "READY");
  EXPECT_THAT(index[0]["reason"], HasSubstr("version 1"));
  EXPECT_THAT(std::string(index[0]["reason"]), Not(HasSubstr(directory_.path())));
  EXPECT_THAT(Log(), HasSubstr(directory_.path()));  // which is for administrators
  directory_.Write("a/1/model.onnx", Times(4));
  LoadError("a", "", 200);
  EXPECT_FALSE(Index()[0].contains("reason"));
  // Statistics are cumulative over reloads.
  EXPECT_EQ(Get("/v2/models/a/stats")["model_stats"][0]["inference_count"], 3);
}

TEST_F(ModelRepositoryTest, NothingFailsWhileModelsAreReloaded) {
  directory_.Write("a/1/model.onnx", Times(2));
  StartDirectory();
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0, right = 0;
  std::vector<std::thread> clients;
  for (int k = 0; k < 3; ++k) {
    clients.emplace_back([&] {
      while (!stop) {
        const double y = Infer("/v2/models/a").first;
        (y == 2 || y == 3 ? right : wrong)++;
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const bool bad = i % 5 == 4;
    directory_.Write("a/1/model.onnx", bad ? "no model" : Times(2 + i % 2));
    LoadError("a", "", bad ? 400 : 200);
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(right, 0);
}

TEST_F(ModelRepositoryTest, RequestsUnderWayEndOnTheModelThatTheyFound) {
  directory_.Write("slow/1/model.onnx", ModelBytes(R"(
      g (int64 trips, float[n] x) => (float[n] y) <bool go = {1}> {
        y = Loop (trips, go, x) <body = b (int64 i, bool c, float[n] v) => (bool d, float[n] w)
        { d = Identity (c) w = Sin (v) }> })"));
  StartDirectory();
  const std::string body =
      R"({"inputs":[{"name":"trips","datatype":"INT64","shape":[],"data":[1000000]},)"
      R"({"name":"x","datatype":"FP32","shape":[1],"data":[1]}]})";
  Client client(server_->port());
  client.Send(absl::StrCat("POST /v2/models/slow/infer HTTP/1.1\r\nHost: a\r\nContent-Length: ",
                           body.size(), "\r\n\r\n", body));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(Ask("POST", "/v2/repository/models/slow/unload", "", 200), "");
  EXPECT_EQ(Index()[0]["state"], "UNLOADING");
  Post("/v2/models/slow/infer", body, 503);
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_EQ(SettledIndex()[0]["state"], "UNAVAILABLE");
}

TEST_F(ModelRepositoryTest, ALoadMayBringItsFiles) {
  directory_.Write("a/1/model.onnx", Times(2));
  StartDirectory();
  json asked = {{"parameters",
                 {{"config", R"({"max_batch_size": 8})"},
                  {"file:3/model.onnx", absl::Base64Escape(Times(7))}}}};
  LoadError("a", asked.dump(), 200);
  EXPECT_THAT(Infer("/v2/models/a"), Pair(7, "3"));
  EXPECT_EQ(Get("/v2/models/a/config")["max_batch_size"], 8);
  LoadError("new", asked.dump(), 200);
  EXPECT_THAT(Infer("/v2/models/new"), Pair(7, "3"));
  LoadError("new", "", 400);  // has no files to be read again
  EXPECT_THAT(Infer("/v2/models/new"), Pair(7, "3"));
  // Without them, the directory counts again.
  LoadError("a", "", 200);
  EXPECT_THAT(Infer("/v2/models/a"), Pair(2, "1"));

  for (const char* name : {"../model.onnx", "1/../model.onnx", "1//model.onnx", "/1/model.onnx",
                           "1/a/model.onnx", "x/model.onnx", "1/", "1/..", "1/.", "1\\m", "1"}) {
    const json bad = {
        {"parameters",
         {{"config", "{}"}, {absl::StrCat("file:", name), absl::Base64Escape(Times(7))}}}};
    EXPECT_THAT(LoadError("a", bad.dump(), 400), HasSubstr("file:")) << name;
  }
  asked["parameters"].erase("config");
  EXPECT_THAT(LoadError("a", asked.dump(), 400), HasSubstr("files need a configuration"));
  EXPECT_THAT(LoadError("a", R"({"parameters":{"config":"{}","file:1/m":"$$"}})", 400),
              HasSubstr("base64"));
  EXPECT_THAT(LoadError("a", R"({"parameters":{"config":1}})", 400), HasSubstr("config"));
  LoadError("a", "[]", 400);
  LoadError("a", "{", 400);
  EXPECT_THAT(Infer("/v2/models/a"), Pair(2, "1"));
}

TEST_F(ModelRepositoryTest, AConfigurationOfTheRequestCountsForThisLoad) {
  directory_.Write("a/1/model.onnx", Times(2));
  directory_.Write("a/2/model.onnx", Times(3));
  StartDirectory();
  EXPECT_EQ(Get("/v2/models/a")["versions"], json({"2"}));
  const json all = {{"parameters", {{"config", R"({"version_policy": {"all": {}}})"}}}};
  LoadError("a", all.dump(), 200);
  EXPECT_EQ(Get("/v2/models/a")["versions"], json({"1", "2"}));
  EXPECT_EQ(Get("/v2/models/a/versions/1")["versions"], json({"1"}));
  EXPECT_THAT(Infer("/v2/models/a"), Pair(3, "2"));
  EXPECT_THAT(Infer("/v2/models/a/versions/1"), Pair(2, "1"));
  LoadError("a", "", 200);
  EXPECT_THAT(Get("/v2/models/a/versions/1", 503)["error"], HasSubstr("unloaded"));
  EXPECT_THAT(Get("/v2/models/a/versions/7", 404)["error"], HasSubstr("has no version 7"));
  EXPECT_THAT(Get("/v2/models/a/versions/02", 404)["error"], HasSubstr("has no version 02"));
}

TEST_F(ModelRepositoryTest, AdministratorsAloneMayChangeModels) {
  serving::ServerOptions options;
  options.address.port = 0;
  auto server = serving::Server::Start({}, options);
  ASSERT_TRUE(server.ok());
  server_ = *std::move(server);
  for (const char* path : {"/v2/repository/index", "/v2/repository/models/a/load",
                           "/v2/repository/models/a/unload", "/v2/repository/x/models/a/load"})
    EXPECT_TRUE(Post(path, "", 403).contains("error"));
  EXPECT_EQ(Get("/v2")["extensions"],
            json({"binary_tensor_data", "classification", "parameters", "model_configuration",
                  "schedule_policy", "statistics", "sequence", "sequence(string_id)"}));
}

TEST_F(ModelRepositoryTest, TheServerIsReadyOnceItsModelsAre) {
  directory_.Write("a/1/model.onnx", Times(2));
  directory_.Write("bad/1/model.onnx", "no model");
  const absl::Status status = Start({{"", directory_.path()}});
  EXPECT_THAT(std::string(status.message()), HasSubstr("model 'bad', version 1"));
  const json reply = Get("/v2/health/ready", 503);
  EXPECT_EQ(reply["ready"], false);
  EXPECT_EQ(Infer("/v2/models/a").first, 2);
  EXPECT_EQ(Index()[1]["state"], "UNAVAILABLE");
  EXPECT_THAT(Get("/v2/models/bad/ready", 503)["error"], HasSubstr("version 1"));
}

TEST(ModelRepositoryOfTextTest, LoadsGoOnWhileTextsOfAnUnloadedModelEnd) {
  const onward::testing::ScratchDirectory directory;
  std::promise<void> ended;
  std::promise<absl::Status> loaded;
  ModelRepository models;  // ends the threads that keep the promises
  const SessionLoader loader = onward::testing::LoadSession();
  models.SetUp(loader, nullptr, nullptr);
  auto* const row = new OneRow;
  auto text = std::make_shared<TextModel>(LettersTokenizer(), TextFacts(),
                                          std::unique_ptr<generation::BatchGenerator>(row));
  {
    ServedModelFacts facts;
    facts.text = text;
    auto session = loader.create(LettersModel(), "cpu");
    ASSERT_TRUE(session.ok()) << session.status();
    auto model = ServedModel::Create("talks", *std::move(session), std::move(facts));
    ASSERT_TRUE(model.ok()) << model.status();
    ASSERT_TRUE(models.Add(*std::move(model)).ok());
  }
  generation::TextRequest request;
  request.on_end = [&](const absl::StatusOr<generation::Finish>&) { ended.set_value(); };
  ASSERT_TRUE(text->Generate(std::move(request), std::chrono::hours(1)).ok());
  row->AwaitRunning();
  text.reset();
  ASSERT_TRUE(models.Unload("talks").ok());
  ASSERT_TRUE(models.AddSource({"other", directory.Write("other.onnx", Times(2))}).ok());
  models.Load("other", nullptr, [&](const absl::Status& status) { loaded.set_value(status); });
  EXPECT_EQ(loaded.get_future().get(), absl::OkStatus());
  row->LetEnd(1);
  ended.get_future().get();
}

}  // namespace
}  // namespace onward::serving
