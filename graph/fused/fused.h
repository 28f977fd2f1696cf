// Products and normalizations with what commonly surrounds them, by family: each a signature and a
// formula of standard ops. Of the domain `onward`; made by passes for devices, and exported as
// functions.
#pragma once

#include <string_view>
#include <vector>

#include "graph/builder/formula_schema.h"

namespace onward::fused {

// The activation that the attributes `activation`, `activation_alpha` and `activation_beta` name,
// of `x`: "" is none, the others are the rows of graph/ops/activation.h. clip is to [alpha, beta].
// `prefix` stands before the attributes' names where an op has two activations.
Expr Activated(const FormulaCall& call, const Expr& x, std::string_view prefix = "");

// The type of images with their channels last that the attribute `dtype` names.
inline DType ImageType(const FormulaCall& call) { return static_cast<DType>(call.Int("dtype")); }

std::vector<FormulaOp> ByteTableOps();
std::vector<FormulaOp> ConvOps();
std::vector<FormulaOp> ElementwiseOps();
std::vector<FormulaOp> LayoutOps();
std::vector<FormulaOp> MatMulOps();
std::vector<FormulaOp> NormalizationOps();
std::vector<FormulaOp> LossOps();
std::vector<FormulaOp> PoolOps();
std::vector<FormulaOp> QuantizedConvOps();

}  // namespace onward::fused
