// A model of one node that is a case of an operator.
#pragma once

#include <cstdint>
#include <string>

#include "onward/graph.h"
#include "onward/session.h"
#include "tests/cases/cases.h"

namespace onward::cases {

// Inputs are x0, x1, ..., outputs y0, y1, ... without types; those that the case omits have no
// value. Input i is an initializer where bit i % 64 of `constants` is set.
Model CaseModel(const OpCase& c, uint64_t constants);

// Runs a session of the case's model, all of whose inputs are given, and returns the first
// difference from what the case expects, or why the run failed; empty: it gives the values.
std::string CaseDifference(const OpCase& c, Session& session);

}  // namespace onward::cases
