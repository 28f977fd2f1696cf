// onward serve with more connections than a process may usually have files open.
#include <sys/resource.h>

#include <memory>
#include <vector>

#include "tests/cli/train_fixture.h"
#include "tests/serving/client.h"

namespace onward {
namespace {

using testing::Client;
using testing::ReadFile;

class ServeConnectionsTest : public testing::TrainCommandTest {};

TEST_F(ServeConnectionsTest, TheLimitOfOpenFilesIsRaised) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{64, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);  // the server inherits it
  const std::string log = directory_.path("log");
  const pid_t server =
      Start({"serve", absl::StrCat(ONWARD_SOURCE_DIR, "/examples/mnist/mnist-8.onnx"), "--http",
             "127.0.0.1:0"},
            log);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(Until([&] { return ReadFile(log).find("curl '") != std::string::npos; }))
      << ReadFile(log);
  const std::string said = ReadFile(log);
  const int port = std::atoi(said.c_str() + said.find("127.0.0.1:") + 10);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<Client>(port));
    clients.back()->Send("GET /v2/health/live HTTP/1.1\r\nHost: a\r\n");
  }
  EXPECT_EQ(Client(port).Ask("GET", "/v2/health/ready").status, 200);
  for (const auto& client : clients) {
    client->Send("\r\n");
    EXPECT_EQ(client->Read().status, 200);
  }
  kill(server, SIGTERM);
  EXPECT_EQ(Await(server), 0) << ReadFile(log);
}

}  // namespace
}  // namespace onward
