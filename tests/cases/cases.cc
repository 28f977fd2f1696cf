#include "tests/cases/cases.h"

namespace onward::cases {

std::vector<OpCase> AllCases() {
  std::vector<OpCase> all;
  for (auto family : {IdentityCases}) {
    for (OpCase& c : family()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace onward::cases
