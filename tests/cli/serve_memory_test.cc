// onward serve where memory runs out.
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/train_fixture.h"
#include "tests/serving/client.h"
#include "tests/support/proto_text.h"
#include "tests/support/sanitized.h"

namespace onward {
namespace {

using testing::Client;
using testing::ReadFile;

class ServeMemoryTest : public testing::TrainCommandTest {};

// The bytes of the process's address space.
rlim_t AddressSpaceOf(pid_t process) {
  std::ifstream file(absl::StrCat("/proc/", process, "/statm"));
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(ServeMemoryTest, ABodyThatDoesNotFitIsRefusedAndTheOthersAreServed) {
#ifdef ONWARD_SANITIZED
  GTEST_SKIP() << "a sanitizer's own memory is in the address space that the test limits";
#endif
  const std::string log = directory_.path("log");
  const pid_t server =
      Start({"serve", absl::StrCat(ONWARD_SOURCE_DIR, "/examples/mnist/mnist-8.onnx"), "--http",
             "127.0.0.1:0", "--max-body", "1GB"},
            log);
  ASSERT_TRUE(Until([&] { return ReadFile(log).find("curl '") != std::string::npos; }))
      << ReadFile(log);
  const std::string said = ReadFile(log);
  const int port = std::atoi(said.c_str() + said.find("127.0.0.1:") + 10);
  Client early(port);
  ASSERT_EQ(early.Ask("GET", "/v2/health/live").status, 200);
  const rlim_t most = AddressSpaceOf(server) + (rlim_t{64} << 20);
  const rlimit limit = {most, most};
  ASSERT_EQ(prlimit(server, RLIMIT_AS, &limit, nullptr), 0);
  for (const char* framing : {"Content-Length: 900000000\r\n", "Transfer-Encoding: chunked\r\n"}) {
    Client client(port);
    client.Send(
        absl::StrCat("POST /v2/models/mnist-8/infer HTTP/1.1\r\nHost: test\r\n", framing, "\r\n"));
    const std::string part(1 << 20, ' ');
    for (int i = 0; i < 96; ++i) {
      if (framing[0] == 'T') client.Send("100000\r\n");
      client.Send(part);
      if (framing[0] == 'T') client.Send("\r\n");
    }
    const testing::Reply reply = client.Read();
    EXPECT_EQ(reply.status, 503) << framing << reply.body;
    EXPECT_EQ(early.Ask("GET", "/v2/health/ready").status, 200);
  }
  kill(server, SIGTERM);
  EXPECT_EQ(Await(server), 0) << ReadFile(log);
}

// y = x times a matrix of so many rows and columns.
std::string Product(int64_t size) {
  onnx::ModelProto model = testing::ProtoFromText(
      R"(<ir_version: 10, opset_import: ["" : 21]>
         g (float[n, m] x) => (float[n, m] y) { y = MatMul(x, w) })");
  onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(size);
  weight.add_dims(size);
  weight.mutable_raw_data()->resize(static_cast<size_t>(size * size) * 4);
  return model.SerializeAsString();
}

TEST_F(ServeMemoryTest, AModelThatDoesNotFitIsRefusedAndTheOthersAreServed) {
#ifdef ONWARD_SANITIZED
  GTEST_SKIP() << "a sanitizer's own memory is in the address space that the test limits";
#endif
  const std::string log = directory_.path("log"), models = directory_.path("models");
  const std::string keys = directory_.Write("keys", "key-of-an-administrator\n");
  std::filesystem::permissions(keys, std::filesystem::perms(0600));
  directory_.Write("models/small/1/model.onnx", Product(2));
  directory_.Write("models/large/1/model.onnx", Product(2));
  const pid_t server =
      Start({"serve", models, "--http", "127.0.0.1:0", "--admin-key-file", keys}, log);
  ASSERT_TRUE(Until([&] { return ReadFile(log).find("curl '") != std::string::npos; }))
      << ReadFile(log);
  const std::string said = ReadFile(log);
  const int port = std::atoi(said.c_str() + said.find("127.0.0.1:") + 10);
  const auto load = [&] {
    return Client(port).Ask("POST", "/v2/repository/models/large/load", "",
                            "Authorization: Bearer key-of-an-administrator\r\n");
  };
  ASSERT_EQ(load().status, 200);
  directory_.Write("models/large/1/model.onnx", Product(4000));  // 64 MB
  rlimit limit{};
  ASSERT_EQ(prlimit(server, RLIMIT_AS, nullptr, &limit), 0);
  const rlim_t before = limit.rlim_cur, space = AddressSpaceOf(server);
  // The file, its copy, the weights, or what they are packed into do not fit.
  for (const rlim_t more : {0, 1, 16, 48, 80, 144}) {
    limit.rlim_cur = space + (more << 20);
    ASSERT_EQ(prlimit(server, RLIMIT_AS, &limit, nullptr), 0);
    const testing::Reply reply = load();
    EXPECT_TRUE(reply.status == 503 || reply.status == 0 || more == 144)
        << more << ": " << reply.status << reply.body;
    for (const char* name : {"small", "large"}) {
      const std::string path = absl::StrCat("/v2/models/", name, "/ready");
      EXPECT_EQ(Client(port).Ask("GET", path).status, 200) << more;
    }
  }
  limit.rlim_cur = before;
  ASSERT_EQ(prlimit(server, RLIMIT_AS, &limit, nullptr), 0);
  EXPECT_EQ(load().status, 200);
  kill(server, SIGTERM);
  EXPECT_EQ(Await(server), 0) << ReadFile(log);
}

}  // namespace
}  // namespace onward
