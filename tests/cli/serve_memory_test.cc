// onward serve where memory runs out.
#include <sys/resource.h>

#include <fstream>

#include "tests/cli/train_fixture.h"
#include "tests/serving/client.h"
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

}  // namespace
}  // namespace onward
