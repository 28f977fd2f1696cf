// onward run --profile: where the time goes, by operator and kernel.
#include <sys/wait.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/export.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/text_model.h"

namespace onward {
namespace {

using ::testing::HasSubstr;

class RunProfileTest : public ::testing::Test {
 protected:
  RunProfileTest() {
    auto model = testing::ModelFromText(
        "g (float[8] x, int64 trips) => (float[8] y) <bool go = {1}> {"
        "  z = Loop (trips, go, x) <body = b (int64 i, bool c, float[8] v) => (bool d, float[8] w)"
        "  { d = Identity (c) w = Sin (v) }>"
        "  y = Cosh (z) }");
    EXPECT_TRUE(model.ok()) << model.status();
    EXPECT_TRUE(ExportFile(*model, directory_.path("model.onnx")).ok());
  }

  int Call(const std::string& arguments) const {
    const int status = std::system(
        absl::StrCat(ONWARD_PROGRAM, " run ", directory_.path("model.onnx"), " --random --input ",
                     "trips=4 --profile ", directory_.path("trace"), " ", arguments, " >",
                     directory_.path("out"), " 2>", directory_.path("error"))
            .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string Read(const char* name) const {
    std::ifstream file(directory_.path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  testing::ScratchDirectory directory_;
};

TEST_F(RunProfileTest, ATableSaysWhereTheTimeGoes) {
  ASSERT_EQ(Call(""), 0) << Read("error");
  const std::string table = Read("error");
  EXPECT_THAT(table, HasSubstr("calls         ms   share\n"));
  for (const char* op : {"\nLoop ", "\nSin ", "\nCosh "}) EXPECT_THAT(table, HasSubstr(op));
  EXPECT_THAT(Read("out"), ::testing::Not(HasSubstr("share")));
}

TEST_F(RunProfileTest, JsonHasAllRowsOfTheWarmRuns) {
  ASSERT_EQ(Call("--json --repeat 6"), 0) << Read("error");
  const auto rows = nlohmann::json::parse(Read("out"))["ops"];
  std::map<std::string, int> calls;
  double share = 0;
  for (const auto& row : rows) {
    calls[row["op"]] += row["calls"].get<int>();
    share += row["share"].get<double>();
    EXPECT_FALSE(row["kernel"].get<std::string>().empty()) << row;
    EXPECT_GE(row["ms"], 0) << row;
  }
  EXPECT_EQ(calls["Cosh"], 5);
  EXPECT_EQ(calls["Loop"], 5);
  EXPECT_EQ(calls["Sin"], 20);
  EXPECT_NEAR(share, 1, 1e-9);
}

}  // namespace
}  // namespace onward
