// Wrong usage: what is unknown is named with what comes closest, and the exit code is 2.
#include <sys/wait.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/export.h"
#include "onward/models.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Outcome {
  int code = -1;
  std::string out, error;
};

Outcome Call(const std::string& arguments, const std::string& environment = "") {
  const testing::ScratchDirectory directory;
  const int status =
      std::system(absl::StrCat(environment, " ", ONWARD_PROGRAM, " ", arguments, " >",
                               directory.path("out"), " 2>", directory.path("error"))
                      .c_str());
  const auto read = [&](const char* name) {
    std::ifstream file(directory.path(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out"), read("error")};
}

TEST(Usage, UnknownCommandsAreNamedWithTheClosest) {
  const Outcome outcome = Call("trian config.textproto");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.error,
              AllOf(HasSubstr("error: there is no command 'trian'; did you mean 'train'?"),
                    HasSubstr("The commands are run, compare, inspect, explain,")));
  EXPECT_THAT(Call("xyzzyxyzzy").error, HasSubstr("there is no command 'xyzzyxyzzy'\n"));
  for (const char* none : {"", "--jsn", "--json"}) {
    EXPECT_EQ(Call(none).code, 2) << none;
    EXPECT_THAT(Call(none).error, AllOf(HasSubstr("a command is missing"), HasSubstr("train")));
  }
}

TEST(Usage, UnknownOptionsAreNamedWithTheClosest) {
  const Outcome outcome = Call("run model.onnx --ramdom");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("--ramdom"), HasSubstr("did you mean '--random'?")));
}

TEST(Usage, CpuFeaturesLimitTheKernelsAndAreChecked) {
  const testing::ScratchDirectory directory;
  const std::string path = directory.path("mlp.onnx");
  const auto mlp = BuildModel("mlp");
  ASSERT_TRUE(mlp.ok()) << mlp.status();
  ASSERT_TRUE(ExportFile(*mlp, path).ok());
  const auto kernel = [&](const std::string& options) {
    return Call(absl::StrCat("explain ", path, " ", options));
  };
  EXPECT_THAT(kernel("--cpu-features baseline").out, HasSubstr("gemm_baseline"));
  EXPECT_THAT(kernel("--cpu-features baseline").out, HasSubstr("CPU features: baseline"));
  const Outcome unknown = kernel("--cpu-features avx3");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.error, HasSubstr("'avx3' is not a CPU feature of this build; give one or "
                                       "several of baseline avx2 avx512"));
  const Outcome variable = Call(absl::StrCat("explain ", path), "ONWARD_CPU=avx3");
  EXPECT_EQ(variable.code, 2);
  EXPECT_THAT(variable.error, HasSubstr("avx3"));
  EXPECT_THAT(Call(absl::StrCat("explain ", path), "ONWARD_CPU=baseline").out,
              HasSubstr("gemm_baseline"));
}

TEST(Usage, VersionAndHelp) {
  EXPECT_EQ(Call("--version").code, 0);
  EXPECT_EQ(Call("--version").out, Call("version").out);
  EXPECT_THAT(Call("--version").out, HasSubstr("ONNX 1."));
  EXPECT_THAT(Call("--version --json").out, HasSubstr("\"opset\""));
  EXPECT_EQ(Call("--help").code, 0);
  EXPECT_THAT(Call("--help").out, HasSubstr("inspect"));
  EXPECT_THAT(Call("train --help").out, HasSubstr("--resume"));
}

}  // namespace
}  // namespace onward
