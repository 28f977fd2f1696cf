// Triton's own client asks the server; tritonclient_check.py says what it looks at.
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "serving/grpc/grpc_listener.h"
#include "tests/serving/repository_fixture.h"

namespace onward {
namespace {

using testing::ModelBytes;

constexpr char kSlow[] =
    "g (int64 trips, float[n] x) => (float[n] y) <bool go = {1}> {"
    "  y = Loop (trips, go, x) <body = b (int64 i, bool c, float[n] v) => (bool d, float[n] w)"
    "  { d = Identity (c) w = Sin (v) }> }";

// The environment that scripts/peers makes; "" where there is none.
std::string PythonOfClient() {
  const char* const peers = std::getenv("ONWARD_PEERS");
  const char* const home = std::getenv("HOME");
  const std::string root = peers != nullptr  ? peers
                           : home != nullptr ? absl::StrCat(home, "/.cache/onward/peers")
                                             : "";
  const std::string python = root + "/tritonclient/bin/python";
  return std::filesystem::exists(python) ? python : "";
}

class TritonClientTest : public testing::RepositoryTest {
 protected:
  TritonClientTest() { grpc_.address.port = 0; }

  void WriteModels() const {
    const auto add = [&](const std::string& name, const std::string& bytes) {
      return directory_.Write(name + "/1/model.onnx", bytes);
    };
    add("scale", testing::Times(3));
    add("spare", testing::Times(1));
    add("slow", ModelBytes(kSlow));
    for (const auto& [datatype, type] :
         std::vector<std::pair<std::string, std::string>>{{"bool", "bool"},
                                                          {"uint8", "uint8"},
                                                          {"uint16", "uint16"},
                                                          {"uint32", "uint32"},
                                                          {"uint64", "uint64"},
                                                          {"int8", "int8"},
                                                          {"int16", "int16"},
                                                          {"int32", "int32"},
                                                          {"int64", "int64"},
                                                          {"fp16", "float16"},
                                                          {"bf16", "bfloat16"},
                                                          {"fp32", "float"},
                                                          {"fp64", "double"},
                                                          {"bytes", "string"}})
      add("same_" + datatype, ModelBytes(absl::StrCat("g (", type, "[n] x) => (", type,
                                                      "[n] y) { y = Identity (x) }")));
  }

  serving::GrpcOptions grpc_;
};

TEST_F(TritonClientTest, EverythingThatItDoes) {
  const std::string python = PythonOfClient();
  if (python.empty()) GTEST_SKIP() << "scripts/peers tritonclient was not run";
  WriteModels();
  open_grpc_ = serving::GrpcAt(grpc_);
  ASSERT_NO_FATAL_FAILURE(StartDirectory());
  const std::string checks = keys_.path("checks");
  const int status = std::system(
      absl::StrCat(python, " ", ONWARD_SOURCE_DIR, "/tests/serving/grpc/tritonclient_check.py ",
                   server_->port(), " ", server_->grpc_port(), " key-of-an-administrator ",
                   directory_.path("scale/1/model.onnx"), " >", checks, " 2>&1")
          .c_str());
  std::ifstream file(checks);
  EXPECT_EQ(status, 0) << std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace
}  // namespace onward
