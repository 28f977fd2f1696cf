// onward serve on GPUs: emulated ones (tests/emulated_cuda).
#include <csignal>

#include "tests/cli/emulated_gpus.h"
#include "tests/cli/train_fixture.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ReadFile;

class ServeCudaTest : public testing::TrainCommandTest {
 protected:
  void SetUp() override {
    if (!gpus_.there()) GTEST_SKIP() << "this build has no emulated device";
    gpus_.Use("order=late,devices=2");
  }

  // A repository with mnist-8 as the model `digits`.
  std::string Repository(const std::string& config) {
    directory_.Write("models/digits/config.pbtxt", config);
    fs::create_directories(directory_.path("models/digits/1"));
    fs::copy(std::string(ONWARD_SOURCE_DIR) + "/examples/mnist/mnist-8.onnx",
             directory_.path("models/digits/1/model.onnx"));
    return directory_.path("models");
  }

  // Starts a server; url_ is where it is.
  pid_t Serve(const std::string& what, const std::string& log) {
    const pid_t server = Start({"serve", what, "--http", "127.0.0.1:0", "--provider", "cuda"}, log);
    EXPECT_TRUE(Until([&] { return ReadFile(log).find("curl '") != std::string::npos; }))
        << ReadFile(log);
    const std::string said = ReadFile(log);
    const size_t begin = said.find("http://");
    url_ = said.substr(begin, said.find('\n', begin) - begin);
    return server;
  }
  std::string Get(const std::string& path) {
    const std::string reply = directory_.path("reply");
    EXPECT_EQ(std::system(absl::StrCat("curl -sS '", url_, path, "' -o ", reply).c_str()), 0);
    return ReadFile(reply);
  }

  testing::EmulatedGpus gpus_;
  std::string url_;
};

TEST_F(ServeCudaTest, InstancesOnEachDevice) {
  const std::string log = directory_.path("log");
  const pid_t server =
      Serve(Repository("instance_group { count: 1 kind: KIND_GPU gpus: [ 0, 1 ] }"), log);
  const nlohmann::json config = nlohmann::json::parse(Get("/v2/models/digits/config"));
  EXPECT_EQ(config["instance_group"][0]["gpus"], nlohmann::json({0, 1}));
  // Several at once, so that both devices work.
  const std::string image = "yes 0 | head -n 784 | paste -sd, -";
  const std::string ask = absl::StrCat(
      "curl -sS '", url_,
      "/v2/models/digits/infer' -d '{\"inputs\":[{\"name\":\"Input3\",\"datatype\":\"FP32\","
      "\"shape\":[1,1,28,28],\"data\":['\"$(",
      image, ")\"']}]}'");
  std::string all;
  for (int i = 0; i < 4; ++i)
    absl::StrAppend(&all, ask, " -o ", directory_.path(absl::StrCat("reply", i)), " & ");
  ASSERT_EQ(std::system(absl::StrCat(all, "wait").c_str()), 0);
  const nlohmann::json first = nlohmann::json::parse(ReadFile(directory_.path("reply0")));
  EXPECT_EQ(first["outputs"][0]["data"].size(), 10);
  for (int i = 1; i < 4; ++i)
    EXPECT_EQ(nlohmann::json::parse(ReadFile(directory_.path(absl::StrCat("reply", i)))), first);
  kill(server, SIGTERM);
  EXPECT_EQ(Await(server), 0) << ReadFile(log);
}

TEST_F(ServeCudaTest, AModelFileHasOneInstance) {
  const std::string log = directory_.path("log");
  const pid_t server =
      Serve("digits=" + std::string(ONWARD_SOURCE_DIR) + "/examples/mnist/mnist-8.onnx", log);
  const nlohmann::json config = nlohmann::json::parse(Get("/v2/models/digits/config"));
  EXPECT_EQ(config["instance_group"][0]["kind"], "KIND_GPU");
  EXPECT_EQ(config["instance_group"][0]["gpus"], nlohmann::json::array({0}));
  kill(server, SIGTERM);
  EXPECT_EQ(Await(server), 0) << ReadFile(log);
}

TEST_F(ServeCudaTest, ADeviceThatIsNotThereIsNamed) {
  const std::string log = directory_.path("log");
  const pid_t server =
      Start({"serve", Repository("instance_group { count: 1 kind: KIND_GPU gpus: 5 }"), "--http",
             "127.0.0.1:0", "--provider", "cuda"},
            log);
  EXPECT_TRUE(Until([&] { return ReadFile(log).find("cuda:5") != std::string::npos; }))
      << ReadFile(log);
  EXPECT_THAT(ReadFile(log), HasSubstr("'digits'"));
  kill(server, SIGTERM);
  Await(server);
}

}  // namespace
}  // namespace onward
