// Arithmetic of gradients: tensors, or sequences of them element by element.
#pragma once

#include "absl/status/statusor.h"
#include "onward/expr.h"

namespace onward::gradient {

// Sums a gradient over the axes along which `to` was broadcast; the result has the shape of `to`.
// Where the types leave open which axes those are, the graph finds them when it runs.
Expr SumTo(const Expr& gradient, const Expr& to);

// a + b.
Expr AddCotangents(const Expr& a, const Expr& b);

// Zeros of the dtype and shape of `like`: a tensor, or a sequence of tensors.
Expr ZeroCotangent(const Expr& like);

}  // namespace onward::gradient
