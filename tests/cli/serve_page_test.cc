// The page, the description of the endpoints and the log of requests, as programs outside see them.
#include <csignal>

#include "tests/cli/train_fixture.h"

namespace onward {
namespace {

using ::testing::HasSubstr;
using testing::ReadFile;

class ServePageTest : public testing::TrainCommandTest {
 protected:
  static std::string Mnist() {
    return std::string(ONWARD_SOURCE_DIR) + "/examples/mnist/mnist-8.onnx";
  }

  // Runs a script of tests/serving against a server of a model of digits; what it printed.
  std::string Checked(const std::string& script, const std::vector<std::string>& options = {}) {
    const std::string log = directory_.path("log"), checks = directory_.path("checks");
    std::vector<std::string> arguments = {"serve", Mnist(), "--http", "127.0.0.1:0"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const pid_t server = Start(arguments, log);
    EXPECT_TRUE(Until([&] { return ReadFile(log).find("curl '") != std::string::npos; }))
        << ReadFile(log);
    const std::string said = ReadFile(log);
    const size_t at = said.find("http://");
    const std::string url = said.substr(at, said.find('\n', at) - at);
    const std::string line = absl::StrCat("python3 ", ONWARD_SOURCE_DIR, "/tests/serving/", script,
                                          " ", url, " >", checks, " 2>&1");
    EXPECT_EQ(std::system(line.c_str()), 0) << ReadFile(checks);
    kill(server, SIGTERM);
    EXPECT_EQ(Await(server), 0);
    return ReadFile(checks);
  }
};

TEST_F(ServePageTest, TheDescriptionHolds) {
  EXPECT_THAT(Checked("openapi_check.py"), HasSubstr("1 examples work"));
}

TEST_F(ServePageTest, EachRequestIsInTheAccessLog) {
  const std::string file = directory_.path("lines");
  Checked("openapi_check.py", {"--access-log", file});
  const std::string lines = ReadFile(file);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_THAT(lines, HasSubstr("\"path\":\"/openapi.json\""));
  EXPECT_THAT(lines, HasSubstr("\"model\":\"mnist-8\",\"version\":\"1\",\"status\":200"));
  const std::string nowhere = directory_.path("none/lines");
  EXPECT_EQ(Onward(absl::StrCat("serve ", Mnist(), " --access-log ", nowhere)), 1);
  EXPECT_THAT(log_, HasSubstr("--access-log: "));
}

TEST_F(ServePageTest, ADigitIsDrawnInABrowser) {
  if (std::system("command -v chromium-headless-shell >/dev/null") != 0)
    GTEST_SKIP() << "chromium-headless-shell is not installed";
  EXPECT_THAT(Checked("page_in_browser.py"), HasSubstr("the page works"));
}

}  // namespace
}  // namespace onward
