// A user tries the printed command first: a shell must run it, and the model must reply.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/serving/repository_fixture.h"

namespace onward::testing {
namespace {

class CurlLineTest : public RepositoryTest {
 protected:
  // Serves a graph, pastes its command, and returns the shape of the reply's only output.
  json ShapeOf(const std::string& graph) {
    directory_.Write("model/1/model.onnx", ModelBytes(graph));
    StartDirectory();
    const std::string url = absl::StrCat("http://127.0.0.1:", server_->port());
    line_ = server_->ready_models().at(0)->CurlLine("curl", url);
    const std::string reply = directory_.path() + "/reply";
    EXPECT_EQ(std::system(absl::StrCat(line_, " -sS -o ", reply).c_str()), 0) << line_;
    std::stringstream text;
    text << std::ifstream(reply).rdbuf();
    const json answer = json::parse(text.str(), nullptr, false);
    EXPECT_TRUE(answer.contains("outputs")) << line_ << text.str();
    return answer.contains("outputs") ? answer["outputs"][0]["shape"] : json();
  }

  std::string line_;
};

// 600 KB of zeros are more than one argument of a command may have.
TEST_F(CurlLineTest, APicture) {
  EXPECT_EQ(ShapeOf("g (float[n, 3, 320, 320] x, bool[n] on) => (float[n, 3, 1, 1] y) "
                    "{ p = GlobalAveragePool(x) y = Where(on, p, p) }"),
            json({1, 3, 1, 1}));
  EXPECT_THAT(line_, ::testing::StartsWith("{ printf %s '{\"inputs\""));
}

TEST_F(CurlLineTest, WindowsWantMoreThanOneElement) {
  EXPECT_EQ(ShapeOf("g (float[n, 1, h, w] x) => (float[n, 1, i, j] y) "
                    "{ y = MaxPool<kernel_shape = [20, 3], strides = [20, 3]>(x) }"),
            json({1, 1, 1, 10}));
  EXPECT_THAT(line_, ::testing::HasSubstr("\"shape\":[1,1,32,32]"));
}

TEST_F(CurlLineTest, OneElementWhereItIsEnough) {
  EXPECT_EQ(ShapeOf("g (float[n, m] x) => (float[n, m] y) { y = Add(x, x) }"), json({1, 1}));
}

}  // namespace
}  // namespace onward::testing
