// Files of cases: graphs in ONNX's text syntax, each behind its notes, lines "# <key>: <value>".
// The make_cases.py scripts write them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace onward::testing {

struct CaseText {
  std::string name;                                        // the graph's
  std::vector<std::pair<std::string, std::string>> notes;  // keys and values
  std::string graph;
};

// The names of a folder's .txt files without the ending, in order.
std::vector<std::string> CaseFamilies(const std::string& folder);

// Returns no cases where the file does not exist.
std::vector<CaseText> ReadCaseFile(const std::string& path);

}  // namespace onward::testing
