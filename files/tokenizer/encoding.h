// The tokens of a text, or of a pair of texts.
#pragma once

#include <cstdint>
#include <vector>

namespace onward::files {

struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> types;  // of each token, as models of pairs are given it ("token_type_ids")
};

}  // namespace onward::files
