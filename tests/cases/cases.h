// The cases of ops, which feed type inference, every kernel of every provider, formulas and the
// export of models. make_cases.py writes them, a file <family>.txt from the table
// cases_<family>.py, with expected values from independent sources.
#pragma once

#include <string>
#include <vector>

#include "onward/attribute.h"
#include "onward/tensor.h"

namespace onward::cases {

struct OpCase {
  std::string name;    // unique in its family
  std::string op;      // "Softmax"
  std::string domain;  // "" is ai.onnx
  Attributes attributes;
  std::vector<Tensor> inputs;    // an empty Tensor is an omitted input
  std::vector<Tensor> expected;  // an empty Tensor is an omitted output
  double rtol = 1e-5;            // ignored for integers, bools and strings, which compare exactly
  double atol = 1e-6;
};

// Every family's cases.
std::vector<OpCase> AllCases();

}  // namespace onward::cases
