// onward serve, as a user meets it: the printed line is pasted, the server is stopped.
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/cli/train_fixture.h"

namespace onward {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::ReadFile;
using ::testing::StartsWith;

class ServeTest : public testing::TrainCommandTest {
 protected:
  static std::string Mnist() {
    return std::string(ONWARD_SOURCE_DIR) + "/examples/mnist/mnist-8.onnx";
  }

  // Starts a server of one model, pastes its line and stops it; returns what the server printed.
  std::string ServedOnce(std::vector<std::string> arguments) {
    const std::string log = directory_.path("log"), reply = directory_.path("reply");
    arguments.insert(arguments.begin(), "serve");
    std::filesystem::remove(log);  // of the server before: it is appended to
    const pid_t server = Start(arguments, log);
    EXPECT_TRUE(Until([&] {
      const std::string text = ReadFile(log);
      return std::count(text.begin(), text.end(), '\n') >= 2;
    })) << ReadFile(log);
    std::ifstream lines(log);
    std::string first, curl;
    std::getline(lines, first);
    std::getline(lines, curl);
    EXPECT_EQ(std::system(absl::StrCat(curl, " -sS -o ", reply).c_str()), 0) << curl;
    EXPECT_THAT(ReadFile(reply), HasSubstr("\"shape\":[1,10]"));
    kill(server, SIGTERM);
    EXPECT_EQ(Await(server), 0) << ReadFile(log);
    return ReadFile(log);
  }
};

TEST_F(ServeTest, ThePrintedLineIsPasted) {
  const std::string log = directory_.path("log");
  const pid_t server =
      Start({"serve", Mnist(), "a digit=" + Mnist(), "--http", "127.0.0.1:0"}, log);
  ASSERT_TRUE(Until([&] {
    const std::string text = ReadFile(log);
    return std::count(text.begin(), text.end(), '\n') >= 3;
  })) << ReadFile(log);
  std::ifstream lines(log);
  std::string first, curl, named;
  std::getline(lines, first);
  std::getline(lines, curl);
  std::getline(lines, named);
  EXPECT_THAT(first, StartsWith("serving 2 models on http://127.0.0.1:"));
  for (const std::string& line : {curl, named}) {
    EXPECT_THAT(line, StartsWith("curl '"));
    const std::string reply = directory_.path("reply");
    ASSERT_EQ(std::system(absl::StrCat(line, " -sS -o ", reply).c_str()), 0) << line;
    const nlohmann::json answer = nlohmann::json::parse(ReadFile(reply));
    EXPECT_EQ(answer["model_name"], &line == &curl ? "mnist-8" : answer["model_name"]);
    EXPECT_EQ(answer["outputs"][0]["shape"], nlohmann::json({1, 10}));
    EXPECT_EQ(answer["outputs"][0]["data"].size(), 10);
  }
  kill(server, SIGTERM);
  EXPECT_EQ(Await(server), 0) << ReadFile(log);
  EXPECT_THAT(ReadFile(log), HasSubstr("stopping: requests under way are answered"));
}

TEST_F(ServeTest, KeysFromFiles) {
  const std::string log = directory_.path("log"), keys = directory_.Write("keys", "secret-1\n");
  std::filesystem::permissions(keys, std::filesystem::perms(0644));
  const pid_t server = Start(
      {"serve", Mnist(), "--http", "127.0.0.1:0", "--api-key-file", keys, "--admin-key-file", keys},
      log);
  ASSERT_TRUE(Until([&] { return ReadFile(log).find("curl '") != std::string::npos; }))
      << ReadFile(log);
  const std::string said = ReadFile(log);
  EXPECT_THAT(said, HasSubstr("warning: every user of this machine may read"));
  EXPECT_THAT(said, Not(HasSubstr("secret")));
  const size_t at = said.find("curl '");
  const std::string curl = said.substr(at, said.find('\n', at) - at);
  const std::string reply = directory_.path("reply");
  for (const auto& [key, status] : {std::pair("secret-1", "200"), std::pair("secret-2", "403")}) {
    const std::string line =
        absl::StrCat("KEY=", key, "; ", curl, " -sS -o /dev/null -w '%{http_code}' >", reply);
    ASSERT_EQ(std::system(line.c_str()), 0) << line;
    EXPECT_EQ(ReadFile(reply), status);
  }
  kill(server, SIGTERM);
  EXPECT_EQ(Await(server), 0);
  EXPECT_THAT(ReadFile(log), Not(HasSubstr("secret")));
}

TEST_F(ServeTest, UnixSockets) {
  const std::string path = directory_.path("it's a socket");
  EXPECT_THAT(ServedOnce({Mnist(), "--http", "unix:" + path}),
              StartsWith(absl::StrCat("serving 1 model on unix:", path)));
  EXPECT_FALSE(std::filesystem::exists(path));
  const std::string file = directory_.Write("file", "");
  EXPECT_EQ(Onward(absl::StrCat("serve ", Mnist(), " --http unix:", file)), 1);
  EXPECT_THAT(log_, HasSubstr("is there and is not a socket"));
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(ServeTest, Tls) {
  const std::string key = directory_.path("key"), certificate = directory_.path("certificate");
  ASSERT_EQ(std::system(absl::StrCat("openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj ",
                                     "/CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout ",
                                     key, " -out ", certificate, " 2>/dev/null")
                            .c_str()),
            0);
  EXPECT_THAT(
      ServedOnce({Mnist(), "--http", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key}),
      StartsWith("serving 1 model on https://127.0.0.1:"));
  const std::string serve = absl::StrCat("serve ", Mnist(), " --http 127.0.0.1:0 --tls-cert ");
  EXPECT_EQ(Onward(serve + certificate), 1);
  EXPECT_THAT(log_, HasSubstr("a certificate and its key are given together"));
  EXPECT_EQ(Onward(absl::StrCat(serve, key, " --tls-key ", key)), 1);
  EXPECT_THAT(log_, HasSubstr("is not a certificate in PEM"));
  EXPECT_EQ(Onward(absl::StrCat(serve, certificate, " --tls-key ", certificate)), 1);
  EXPECT_THAT(log_, HasSubstr("is not the certificate's key in PEM"));
}

TEST_F(ServeTest, FlagsFromAFile) {
  const std::string path = directory_.path("socket");
  const nlohmann::json config = {{"models", {"digits=" + Mnist()}},
                                 {"http", "unix:" + path},
                                 {"max-wait", "500ms"},
                                 {"drain-timeout", "1m"}};
  const std::string file = directory_.Write("serve.json", config.dump());
  EXPECT_THAT(ServedOnce({"--config", file}), HasSubstr(absl::StrCat("unix:", path)));
  EXPECT_THAT(ServedOnce({"--config", file, "--http", "127.0.0.1:0"}),
              HasSubstr("on http://127.0.0.1:"));
  const auto refused = [&](const nlohmann::json& document) {
    EXPECT_EQ(Onward("serve --config " + directory_.Write("bad.json", document.dump())), 1);
    return log_;
  };
  EXPECT_THAT(refused({{"max-wiat", "1s"}}), HasSubstr("did you mean 'max-wait'"));
  EXPECT_THAT(refused({{"max-wait", 3}}), HasSubstr("max-wait: expected a string"));
  EXPECT_THAT(refused({{"models", {Mnist()}}, {"max-wait", "soon"}}),
              HasSubstr("--max-wait: 'soon' is not a duration"));
  EXPECT_THAT(refused({{"max-wait", "1s"}}), HasSubstr("name a model to serve"));
  EXPECT_THAT(refused("text"), HasSubstr("expected an object in JSON"));
}

TEST_F(ServeTest, IsConformant) {
  const std::string log = directory_.path("log"), checks = directory_.path("checks");
  const pid_t server = Start({"serve", Mnist(), "--http", "127.0.0.1:0"}, log);
  ASSERT_TRUE(Until([&] { return ReadFile(log).find("curl '") != std::string::npos; }))
      << ReadFile(log);
  const std::string said = ReadFile(log);
  const size_t at = said.find("http://");
  const std::string url = said.substr(at, said.find('\n', at) - at);
  EXPECT_EQ(
      std::system(absl::StrCat("python3 ", ONWARD_SOURCE_DIR, "/tests/serving/oip_conformance.py ",
                               url, " >", checks, " 2>&1")
                      .c_str()),
      0)
      << ReadFile(checks);
  EXPECT_THAT(ReadFile(checks), HasSubstr("all checks passed"));
  kill(server, SIGTERM);
  EXPECT_EQ(Await(server), 0);
}

TEST_F(ServeTest, ADirectoryOfModelsIsServed) {
  directory_.Write("models/digits/2/model.onnx", ReadFile(Mnist()));
  directory_.Write("models/digits/config.pbtxt", "instance_group { count: 1 } colour: 3");
  const std::string log = directory_.path("log");
  const pid_t server = Start({"serve", directory_.path("models"), "--http", "127.0.0.1:0"}, log);
  ASSERT_TRUE(Until([&] {
    return ReadFile(log).find("/v2/models/digits/infer") != std::string::npos;
  })) << ReadFile(log);
  EXPECT_THAT(ReadFile(log), HasSubstr("serving 1 model on http://127.0.0.1:"));
  EXPECT_THAT(ReadFile(log), HasSubstr("has no field named \"colour\""));
  kill(server, SIGTERM);
  EXPECT_EQ(Await(server), 0) << ReadFile(log);
  directory_.Write("models/digits/config.pbtxt", "max_batch_size: 8");
  EXPECT_EQ(Onward("serve --http 127.0.0.1:0 " + directory_.path("models")), 1);
  EXPECT_THAT(log_, HasSubstr("max_batch_size: expected 0"));
}

TEST_F(ServeTest, ACheckLoadsEverythingAndOpensNoPort) {
  const std::string socket = directory_.path("socket");
  ASSERT_EQ(
      Onward(absl::StrCat("serve --check ", Mnist(), " a=", Mnist(), " --http unix:", socket)), 0)
      << log_;
  EXPECT_THAT(log_, HasSubstr("model 'mnist-8' version 1 can be served\n"));
  EXPECT_THAT(log_, HasSubstr("model 'a' version 1 can be served\n"));
  EXPECT_FALSE(std::filesystem::exists(socket));
  directory_.Write("models/digits/2/model.onnx", ReadFile(Mnist()));
  directory_.Write("models/other/1/model.onnx", "not a model");
  const std::string printed = directory_.path("printed");
  const int status =
      std::system(absl::StrCat(ONWARD_PROGRAM, " serve --check ", directory_.path("models"),
                               " digits=", Mnist(), " nothing.onnx --http host:1 --json >", printed,
                               " 2>/dev/null")
                      .c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  const nlohmann::json report = nlohmann::json::parse(ReadFile(printed));
  EXPECT_EQ(report["models"], nlohmann::json::parse(R"([{"name":"digits","version":"2"}])"));
  ASSERT_EQ(report["problems"].size(), 4) << log_;
  EXPECT_THAT(report["problems"][0].get<std::string>(), HasSubstr("'host' is not an address"));
  EXPECT_THAT(report["problems"][1].get<std::string>(), HasSubstr("other"));
  EXPECT_THAT(report["problems"][2].get<std::string>(), HasSubstr("two models are named 'digits'"));
  EXPECT_THAT(report["problems"][3].get<std::string>(), HasSubstr("nothing.onnx"));
  EXPECT_EQ(Onward("serve --check nothing.onnx"), 1);
  EXPECT_THAT(log_, HasSubstr("error: the server would not start: 1 problem: "));
}

TEST_F(ServeTest, WhatIsWrongIsSaid) {
  EXPECT_EQ(Onward("serve"), 2);
  EXPECT_EQ(Onward("serve nothing.onnx"), 1);
  EXPECT_THAT(log_, HasSubstr("nothing.onnx"));
  EXPECT_EQ(Onward(absl::StrCat("serve ", Mnist(), " ", Mnist())), 1);
  EXPECT_THAT(log_, HasSubstr("two models are named 'mnist-8'"));
  EXPECT_EQ(Onward(absl::StrCat("serve ", Mnist(), " --http 8000")), 1);
  EXPECT_THAT(log_, HasSubstr("'8000' is not HOST:PORT"));
  EXPECT_EQ(Onward(absl::StrCat("serve ", Mnist(), " --grpc 8001")), 1);
  EXPECT_THAT(log_, HasSubstr("--grpc: '8001' is not HOST:PORT, such as 127.0.0.1:8001"));
  const int checked = Onward(absl::StrCat("serve --check ", Mnist(), " --grpc 127.0.0.1:8001"));
  EXPECT_EQ(checked, log_.find("--grpc: this build has no gRPC") == log_.npos ? 0 : 1);
  EXPECT_EQ(Onward(absl::StrCat("serve ", Mnist(), " --api-key-file ",
                                directory_.Write("keys", "# none\n"))),
            1);
  EXPECT_THAT(log_, HasSubstr("--api-key-file: "));
  EXPECT_THAT(log_, HasSubstr("has no key"));
}

}  // namespace
}  // namespace onward
