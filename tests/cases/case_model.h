// A model of one node that is a case of an operator.
#pragma once

#include <cstdint>

#include "onward/graph.h"
#include "tests/cases/cases.h"

namespace onward::cases {

// Inputs are x0, x1, ..., outputs y0, y1, ... without types; those that the case omits have no
// value. Input i is an initializer where bit i % 64 of `constants` is set.
Model CaseModel(const OpCase& c, uint64_t constants);

}  // namespace onward::cases
