// The ops of the domain com.microsoft, by family: each a signature and a formula of standard ops.
// What they compute: the op's page in ONNX Runtime's docs/ContribOperators.md; where that is
// silent, what ONNX Runtime's CPU kernel does.
#pragma once

#include <string>
#include <vector>

#include "graph/builder/formula_schema.h"

namespace onward::microsoft {

// Those that argument-dependent lookup does not find behind braces.
using expr::Concat;
using expr::Op;
using expr::Ops;

// The activation that FusedConv and its kin name ("": none); `parameters` are alpha, beta and
// gamma.
Expr Activated(const FormulaCall& call, const Expr& x, const std::string& op,
               const Attributes& parameters);

// A value of rank 0 from one element of any rank.
inline Expr OneElement(const Expr& x) { return expr::Reshape(x, std::vector<int64_t>()); }

std::vector<FormulaOp> ActivationOps();
std::vector<FormulaOp> AttentionOps();
std::vector<FormulaOp> ConvOps();
std::vector<FormulaOp> ElementwiseOps();
std::vector<FormulaOp> GatherBlockQuantizedOps();
std::vector<FormulaOp> GatherScatterOps();
std::vector<FormulaOp> GroupQueryAttentionOps();
std::vector<FormulaOp> LayoutOps();
std::vector<FormulaOp> LinearAttentionOps();
std::vector<FormulaOp> MatMulNBitsOps();
std::vector<FormulaOp> MoEOps();
std::vector<FormulaOp> MatMulOps();
std::vector<FormulaOp> MultiHeadAttentionOps();
std::vector<FormulaOp> NhwcOps();
std::vector<FormulaOp> NormalizationOps();
std::vector<FormulaOp> PackedAttentionOps();
std::vector<FormulaOp> QLinearOps();
std::vector<FormulaOp> QuantizeOps();
std::vector<FormulaOp> RecurrentOps();
std::vector<FormulaOp> ResizeOps();
std::vector<FormulaOp> RotaryEmbeddingOps();
std::vector<FormulaOp> SignalOps();
std::vector<FormulaOp> SoftmaxOps();
std::vector<FormulaOp> StringOps();

}  // namespace onward::microsoft
