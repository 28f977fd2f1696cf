// The ops that gradients of common ops are made of where one kernel does better than several ops of
// the standard, by family: each a signature and a formula of standard ops. Of the domain `onward`.
#pragma once

#include <vector>

#include "graph/builder/formula_schema.h"

namespace onward::gradients {

// A value kept from the forward pass, in the dtype of `like`.
inline Expr Saved(const Expr& kept, const Expr& like) {
  return kept.dtype() == like.dtype() ? kept : expr::Op("CastLike", {kept, like});
}

std::vector<FormulaOp> ActivationOps();
std::vector<FormulaOp> AttentionOps();
std::vector<FormulaOp> BatchNormalizationOps();
std::vector<FormulaOp> ConvOps();
std::vector<FormulaOp> LayerNormalizationOps();
std::vector<FormulaOp> LossOps();
std::vector<FormulaOp> PoolOps();
std::vector<FormulaOp> RecurrentOps();

}  // namespace onward::gradients
