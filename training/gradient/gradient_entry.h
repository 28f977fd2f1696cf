// A row of the tables of gradient rules.
#pragma once

#include <string_view>

#include "onward/gradient.h"

namespace onward::training {

struct GradientEntry {
  std::string_view op;
  GradientRule
      rule;  // null: the op has no gradient by its nature (Shape, comparisons): inputs get none
  std::string_view domain = "";
};

}  // namespace onward::training
