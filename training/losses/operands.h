// The shapes and dtypes that operands of losses must have: what would broadcast is refused, where
// dims are known at once, else by a node that looks at the shapes that come. Included by
// training/losses alone.
#pragma once

#include <string>

#include "training/losses/loss.h"

namespace onward::loss {

// Fails the sink of x; always empty.
Expr Refused(const Expr& x, const std::string& message);

// `target` in x's dtype, of x's shape. `what` names it in messages: "target".
Expr SameShape(const std::string& loss, const Expr& x, const Expr& target,
               const std::string& what = "target");

// `weight`, which must broadcast to x's shape and leave that as it is; none where there is none.
Expr WeightOf(const std::string& loss, const Expr& x, const Expr& weight,
              const std::string& what = "weight");

// An integer target: x's shape without axis `axis`.
Expr ClassTarget(const std::string& loss, const Expr& x, const Expr& target, int64_t axis);

// [n], where axis `axis` of x has n elements.
Expr OnePer(const std::string& loss, const Expr& x, int64_t axis, const Expr& operand,
            const std::string& what);

// [n, any number], where x has n rows.
Expr RowPer(const std::string& loss, const Expr& x, const Expr& target);

// Returns whether the operand is of integers; the sink keeps an error else.
bool IsInteger(const std::string& loss, const Expr& operand, const std::string& what);

// x, whose elements must be in [0, 1]; messages have the name of `named`, which x was made of.
Expr Probability(const std::string& loss, const Expr& x, const Expr& named, const std::string& what,
                 const std::string& advice);

}  // namespace onward::loss
