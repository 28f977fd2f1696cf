// The ops of the domain com.microsoft, by family: each a signature and a formula of standard ops.
// What they compute: the op's page in ONNX Runtime's docs/ContribOperators.md; where that is
// silent, what ONNX Runtime's CPU kernel does.
#pragma once

#include <vector>

#include "graph/builder/formula.h"

namespace onward::microsoft {

// Those that argument-dependent lookup does not find behind braces.
using expr::Concat;
using expr::Op;
using expr::Ops;

std::vector<FormulaOp> ActivationOps();
std::vector<FormulaOp> GatherBlockQuantizedOps();
std::vector<FormulaOp> MatMulNBitsOps();
std::vector<FormulaOp> NhwcOps();
std::vector<FormulaOp> QLinearOps();
std::vector<FormulaOp> QuantizeOps();

}  // namespace onward::microsoft
