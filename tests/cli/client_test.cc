// onward client, against the program's own server.
#include <csignal>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "files/npy.h"
#include "tests/cli/train_fixture.h"

namespace onward {
namespace {

using ::testing::HasSubstr;
using testing::ReadFile;

class ClientTest : public testing::TrainCommandTest {
 protected:
  static std::string Mnist() {
    return std::string(ONWARD_SOURCE_DIR) + "/examples/mnist/mnist-8.onnx";
  }

  // Serves the digits and returns the URL.
  std::string Serve(std::vector<std::string> options) {
    const std::string log = directory_.path("server.log");
    options.insert(options.begin(), {"serve", "digits=" + Mnist()});
    Start(options, log);
    EXPECT_TRUE(Until([&] { return ReadFile(log).find("curl ") != std::string::npos; }))
        << ReadFile(log);
    const std::string said = ReadFile(log);
    const size_t at = said.find(" on ") + 4;
    return said.substr(at, said.find('\n', at) - at);
  }

  // The outputs that `onward run` has for the input, as NAME.npy.
  std::string Stored() {
    EXPECT_EQ(Onward(absl::StrCat("run ", Mnist(), " --input Input3=", ONWARD_SOURCE_DIR,
                                  "/examples/mnist/digits/7.png --output-dir ",
                                  directory_.path("stored"))),
              0)
        << log_;
    return directory_.path("stored");
  }
  static std::string Digit() {
    return absl::StrCat(" digits --input Input3=", ONWARD_SOURCE_DIR,
                        "/examples/mnist/digits/7.png ");
  }
};

TEST_F(ClientTest, InfersAsARunDoes) {
  const std::string url = Serve({"--http", "127.0.0.1:0"}), stored = Stored();
  const auto expected = files::ReadNpy(stored + "/Plus214_Output_0.npy");
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const char* tensors : {"bytes", "json"}) {
    const std::string outputs = directory_.path(tensors);
    ASSERT_EQ(Onward(absl::StrCat("client infer ", url, Digit(), "--tensors ", tensors,
                                  " --output-dir ", outputs)),
              0)
        << log_;
    EXPECT_THAT(log_, HasSubstr("Plus214_Output_0"));
    const auto got = files::ReadNpy(outputs + "/Plus214_Output_0.npy");
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->dims(), expected->dims());
    for (int64_t i = 0; i < 10; ++i)
      EXPECT_FLOAT_EQ(got->data<float>()[i], expected->data<float>()[i]);
  }
  ASSERT_EQ(Onward(absl::StrCat("client infer ", url, " digits --input Input3=random --json")), 0)
      << log_;
  EXPECT_EQ(nlohmann::json::parse(log_)["outputs"][0]["name"], "Plus214_Output_0");
}

TEST_F(ClientTest, LoadsAndCompares) {
  const std::string url = Serve({"--http", "127.0.0.1:0"}), stored = Stored();
  ASSERT_EQ(Onward(absl::StrCat("client load ", url, Digit(),
                                "--rate 50 --duration 1 --json --expected ", stored)),
            0)
      << log_;
  // A note on the image's pixels stands before it.
  const nlohmann::json report = nlohmann::json::parse(log_.substr(log_.find("{\n")));
  EXPECT_EQ(report["planned"], 50);
  EXPECT_EQ(report["right"], 50);
  EXPECT_EQ(report["wrong"], 0);
  EXPECT_EQ(report["by_status"], nlohmann::json({{"200", 50}}));
  EXPECT_GT(report["latency_ms"]["p99.9"], 0);
  ASSERT_EQ(Onward(absl::StrCat("client load ", url, " digits --rate 20 --duration 0.5 --compare")),
            0)
      << log_;
  EXPECT_THAT(log_, HasSubstr("10 requests in"));
  EXPECT_THAT(log_, HasSubstr("10 right"));
  EXPECT_THAT(log_, HasSubstr("latency ms:  min"));
  // The stored outputs of another input.
  EXPECT_EQ(Onward(absl::StrCat("client load ", url, " digits --rate 1 --duration 1 --expected ",
                                stored)),
            1);
  EXPECT_THAT(
      log_,
      HasSubstr("the first reply differs from --expected: output 'Plus214_Output_0' differs"));
}

TEST_F(ClientTest, KeysAndSockets) {
  const std::string keys = directory_.Write("keys", "secret-1\n");
  const std::string url =
      Serve({"--http", "unix:" + directory_.path("socket"), "--api-key-file", keys});
  EXPECT_EQ(Onward(absl::StrCat("client infer ", url, Digit(), "--api-key-file ", keys)), 0)
      << log_;
  EXPECT_EQ(Onward(absl::StrCat("client infer ", url, Digit())), 1);
  EXPECT_THAT(log_, HasSubstr("error: 401: a key is missing"));
}

TEST_F(ClientTest, Tls) {
  const std::string key = directory_.path("key"), certificate = directory_.path("certificate");
  ASSERT_EQ(std::system(absl::StrCat("openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj ",
                                     "/CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout ",
                                     key, " -out ", certificate, " 2>/dev/null")
                            .c_str()),
            0);
  const std::string url =
      Serve({"--http", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key});
  EXPECT_EQ(Onward(absl::StrCat("client infer ", url, Digit(), "--ca-file ", certificate)), 0)
      << log_;
  // Nobody vouches for the certificate.
  EXPECT_EQ(Onward(absl::StrCat("client infer ", url, Digit())), 1);
  EXPECT_THAT(log_, HasSubstr("by TLS"));
}

TEST_F(ClientTest, WhatIsWrongIsSaid) {
  EXPECT_EQ(Onward("client"), 2);
  EXPECT_EQ(Onward("client ask http://127.0.0.1:1 m"), 2);
  EXPECT_EQ(Onward("client load http://127.0.0.1:1 m"), 2);
  EXPECT_THAT(log_, HasSubstr("--rate"));
  EXPECT_EQ(Onward("client infer ftp://x m"), 1);
  EXPECT_THAT(log_, HasSubstr("is not the URL of a server"));
  const std::string url = Serve({"--http", "127.0.0.1:0"});
  EXPECT_EQ(Onward(absl::StrCat("client infer ", url, " digit")), 1);
  EXPECT_THAT(log_, HasSubstr("did you mean 'digits'"));
  EXPECT_EQ(Onward(absl::StrCat("client infer ", url, " digits --input Input4=random")), 1);
  EXPECT_THAT(log_, HasSubstr("no input 'Input4'"));
  EXPECT_EQ(Onward(absl::StrCat("client infer ", url, " digits")), 1);
  EXPECT_THAT(log_, HasSubstr("'Input3'"));
}

}  // namespace
}  // namespace onward
