#include "tests/support/case_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace onward::testing {

std::vector<std::string> CaseFamilies(const std::string& folder) {
  std::vector<std::string> families;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") families.push_back(entry.path().stem().string());
  }
  std::sort(families.begin(), families.end());
  return families;
}

std::vector<CaseText> ReadCaseFile(const std::string& path) {
  std::ifstream file(path);
  std::vector<CaseText> cases;
  CaseText c;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() && c.graph.empty()) continue;
    if (absl::StartsWith(line, "# ")) {
      c.notes.push_back(absl::StrSplit(line.substr(2), absl::MaxSplits(": ", 1)));
    } else {
      absl::StrAppend(&c.graph, line, "\n");
    }
    if (line != "}") continue;
    c.name = c.graph.substr(0, c.graph.find(' '));
    cases.push_back(std::exchange(c, {}));
  }
  return cases;
}

}  // namespace onward::testing
