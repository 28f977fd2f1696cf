// Why a program is as it is.
#pragma once

#include <string>
#include <vector>

namespace onward {

// The work of one pass.
struct PassReport {
  std::string name;
  int patches = 0;
};

// Why a node runs as it does, for `onward explain`.
struct NodeExplanation {
  std::string node;  // "[Conv 'conv1']"
  std::string provider;
  std::string kernel;
  std::vector<std::string> refusals;  // "conv_avx512: group > 1"
  std::string origin;                 // the patches that made it
};

}  // namespace onward
