// Inputs and outputs of a model as its user sees them.
#pragma once

#include <string>
#include <vector>

#include "onward/type.h"

namespace onward {

struct ValueInfo {
  std::string name;
  Type type;
  bool optional = false;  // an input with a default value
};

}  // namespace onward
