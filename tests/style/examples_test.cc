// The page that shows programs beside their PyTorch equals shows what the tree has.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace onward {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(std::string(ONWARD_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Examples, AreWhatThePageShowsAndNotLongerThanTheirPyTorchEquals) {
  const std::string page = ReadFile("docs/from_pytorch.md");
  for (const std::string stem : {"examples/mnist/train_mnist", "examples/finetune/finetune",
                                 "examples/chargpt/continue_text"}) {
    const std::string ours = ReadFile(stem + ".cc"), theirs = ReadFile(stem + ".py");
    EXPECT_NE(page.find("```cpp\n" + ours + "```"), page.npos) << stem << ".cc";
    EXPECT_NE(page.find("```python\n" + theirs + "```"), page.npos) << stem << ".py";
    const auto lines = std::count(ours.begin(), ours.end(), '\n');
    const auto their_lines = std::count(theirs.begin(), theirs.end(), '\n');
    EXPECT_LE(lines, their_lines) << stem;
    const std::string row = "| `" + stem + ".cc` | " + std::to_string(lines) + " | `" + stem +
                            ".py` | " + std::to_string(their_lines) + " |";
    EXPECT_NE(page.find(row), page.npos) << row;
  }
}

}  // namespace
}  // namespace onward
