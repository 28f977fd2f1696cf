// The families of cases, one function each. Included by cases.cc alone.
#pragma once

#include "tests/cases/cases.h"

namespace onward::cases {

std::vector<OpCase> ConcatCases();
std::vector<OpCase> DepthToSpaceCases();
std::vector<OpCase> ExpandCases();
std::vector<OpCase> GatherCases();
std::vector<OpCase> IdentityCases();
std::vector<OpCase> PadCases();
std::vector<OpCase> ShapeOpsCases();
std::vector<OpCase> SliceCases();
std::vector<OpCase> TransposeCases();
std::vector<OpCase> TriluCases();

}  // namespace onward::cases
