// onward completion, in the shells that are here.
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/command_output.h"
#include "tests/support/scratch_directory.h"

namespace onward {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// Lines that a shell command prints.
std::vector<std::string> LinesOf(const std::string& command) {
  const testing::CommandOutput output = testing::OutputOf(command);
  EXPECT_EQ(output.exit_code, 0) << command << "\n" << output.text;
  return absl::StrSplit(output.text, '\n', absl::SkipEmpty());
}

bool HasShell(const std::string& name) {
  return std::system(absl::StrCat("command -v ", name, " >/dev/null").c_str()) == 0;
}

class CompletionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* shell : {"bash", "fish", "zsh"}) {
      ASSERT_EQ(std::system(absl::StrCat(ONWARD_PROGRAM, " completion ", shell, " >",
                                         directory_.path(shell))
                                .c_str()),
                0);
    }
  }
  // Returns the completions that bash offers for the last of the words.
  std::vector<std::string> Bash(const std::string& words) {
    const std::string script = absl::StrCat(
        "source ", directory_.path("bash"), "; COMP_WORDS=(", words,
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _onward; printf \"%s\\n\" \"${COMPREPLY[@]}\"");
    return LinesOf(absl::StrCat("bash -c '", script, "'"));
  }
  std::vector<std::string> Fish(const std::string& line) {
    return LinesOf(absl::StrCat("fish --no-config -c 'source ", directory_.path("fish"),
                                "; complete -C \"", line, "\"' | cut -f1"));
  }

  testing::ScratchDirectory directory_;
};

TEST_F(CompletionTest, Bash) {
  if (!HasShell("bash")) GTEST_SKIP() << "needs bash";
  EXPECT_THAT(Bash("onward tr"), ElementsAre("train"));
  EXPECT_THAT(Bash("onward co"), ElementsAre("compare", "convert", "conformance", "completion"));
  EXPECT_THAT(Bash("onward run model.onnx --prec"), ElementsAre("--precision"));
  EXPECT_THAT(Bash("onward run model.onnx --precision st"), ElementsAre("strict"));
  EXPECT_THAT(Bash("onward completion f"), ElementsAre("fish"));
  EXPECT_THAT(Bash("onward optimize model.onnx -"), Contains("-o"));
  EXPECT_THAT(Bash("onward run -"), Not(Contains("--bisect")));
  // Files.
  EXPECT_THAT(Bash("onward run model"), IsEmpty());
  EXPECT_THAT(Bash("onward run --input x=-"), IsEmpty());
}

TEST_F(CompletionTest, Fish) {
  if (!HasShell("fish")) GTEST_SKIP() << "needs fish";
  EXPECT_THAT(Fish("onward tr"), ElementsAre("train"));
  EXPECT_THAT(Fish("onward run model.onnx --prec"), ElementsAre("--precision"));
  EXPECT_THAT(Fish("onward run model.onnx --precision st"), ElementsAre("strict"));
  EXPECT_THAT(Fish("onward completion z"), ElementsAre("zsh"));
  EXPECT_THAT(Fish("onward run --"), Not(Contains("--bisect")));
}

// Zsh completes the value of an option in a pseudo-terminal.
TEST_F(CompletionTest, Zsh) {
  if (!HasShell("zsh")) GTEST_SKIP() << "needs zsh";
  const std::string file = directory_.Write("complete.zsh", R"(
zmodload zsh/zpty
zpty shell zsh -f
zpty -w shell 'PS1=; unsetopt beep; autoload -U compinit; compinit -D; source )" +
                                                                directory_.path("zsh") + R"('
zpty -w shell 'print ready-now'
zpty -r shell seen '*ready-now*ready-now*'
zpty -wn shell $'onward run model --precision st\t; print done-$?\n'
zpty -r shell seen '*done-[0-9]*'
print -r -- "$seen"
)");
  EXPECT_THAT(LinesOf("timeout 20 zsh -f " + file),
              Contains(::testing::HasSubstr("--precision strict")));
}

}  // namespace
}  // namespace onward
