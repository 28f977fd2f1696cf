// An initializer made of one that held several equal weights.
#pragma once

#include <string>

namespace onward::training {

struct SeparatedWeight {
  std::string name;  // of the new initializer
  std::string from;  // the one that it was
};

}  // namespace onward::training
