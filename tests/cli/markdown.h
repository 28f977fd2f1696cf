// Blocks of code and tables of the documentation.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace onward::testing {

struct CodeBlock {
  std::string language, text;
  int line = 0;
};

struct Page {
  std::vector<CodeBlock> blocks;
  // Code spans: those that are the whole first cell of a table's row; and all, with their lines.
  std::vector<std::string> first_cells;
  std::vector<std::pair<std::string, std::string>> mentions;
};

inline std::vector<std::string> CodeSpans(const std::string& line) {
  std::vector<std::string> spans;
  const std::vector<std::string> parts = absl::StrSplit(line, '`');
  for (size_t i = 1; i + 1 < parts.size(); i += 2) spans.push_back(parts[i]);
  return spans;
}

inline Page ReadPage(const std::string& path) {
  Page page;
  std::ifstream file(path);
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (absl::StartsWith(line, "```")) {
      inside = !inside;
      if (inside) page.blocks.push_back({line.substr(3), "", number});
    } else if (inside) {
      absl::StrAppend(&page.blocks.back().text, line, "\n");
    } else {
      const bool row = absl::StartsWith(line, "| `");
      const std::vector<std::string> spans = CodeSpans(line);
      for (size_t i = 0; i < spans.size(); ++i) {
        if (row && i == 0 && absl::StrContains(line, absl::StrCat("| `", spans[0], "` |"))) {
          page.first_cells.push_back(spans[0]);
        }
        page.mentions.emplace_back(spans[i], line);
      }
    }
  }
  return page;
}

}  // namespace onward::testing
