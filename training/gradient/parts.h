// Parts of the rules of several families.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "onward/gradient.h"

namespace onward::gradient {

using Gradients = absl::StatusOr<std::vector<Expr>>;

// `yes` where the condition holds, else 0.
Expr Masked(const Expr& condition, const Expr& yes);

// Factors of a product, some of them 0: what the gradient of the product is made of, and the
// gradient of that.
struct ZeroFactors {
  explicit ZeroFactors(const Expr& x);
  Expr x, at_zero;
  Expr nonzero;  // 1 in place of zeros
  Expr zeros;    // the zeros themselves, 0 elsewhere: its sum is the zero factor where there is one
  Expr count;    // 1 at zeros
  // The product of the factors beside each: `product` is that of all that are not 0, `number` the
  // sum of `count` over the product's factors, `sum` that of `zeros`.
  Expr Others(const Expr& number, const Expr& sum, const Expr& product) const;
};

// One entry for each input of the node, none given yet.
std::vector<Expr> NoGradients(const GradientScope& s);

// A 16-bit float as float32, others as they are; x in the dtype of `like`.
Expr Widened(const Expr& x);
Expr Like(const Expr& x, const Expr& like);

// dy over the number of elements of x in each mean of y; a 16-bit float cannot hold the number.
Expr OverMeanCount(const Expr& dy, const Expr& x, const Expr& y);

// The rank; Unimplemented when it is not known, InvalidArgument when it is less than `least`.
absl::StatusOr<int64_t> RankOf(const Expr& x, int64_t least = 0);

// Elements of an input that is a constant.
std::optional<std::vector<int64_t>> ConstantInts(const GradientScope& s, int input);
std::optional<double> ConstantScalar(const GradientScope& s, int input);

// 0, 1, ..., count - 1 as int64[count]; `count` is int64[1] or a scalar.
Expr Iota(const Expr& count);
// Dim `axis` of x as int64[1]; `axis` may count from the end.
Expr DimOf(const Expr& x, int64_t axis);
// A scalar of a tensor of one element.
Expr ScalarOf(const Expr& one);
// int64[n] beside `like`.
Expr IntsLike(const Expr& like, const std::vector<int64_t>& values);

// 0, 1, ..., n - 1.
std::vector<int64_t> AxesUpTo(int64_t n);

// Swaps the last two axes of a tensor that has them.
Expr SwapLastAxes(const Expr& x);

// The gradient of elements of `x` that y picked: zeros of x's shape, to which `dy` is added at the
// flat positions `indices` (int64, of dy's shape).
Expr ScatterFlat(const Expr& x, const Expr& indices, const Expr& dy);
// int64 tensor of x's shape that numbers its elements.
Expr FlatPositions(const Expr& x);

// The gradients of a node's float inputs from what its outputs are in terms of its inputs, written
// in differentiable ops. The outputs without an upstream gradient may be left out.
using Composition = std::function<std::vector<Expr>(const std::vector<Expr>& inputs)>;
Gradients GradientsOf(const GradientScope& s, const Composition& composition);

}  // namespace onward::gradient
