#include "onward/nn/dropout.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "nn/shape_of.h"

namespace onward::nn {
namespace {

bool CheckRatio(const Expr& x, double p) {
  if (!x.valid()) return false;
  if (p >= 0 && p < 1) return true;
  x.sink()->Fail(absl::InvalidArgumentError(absl::StrCat("a dropout must be in [0, 1), got ", p)));
  return false;
}

Expr Drop(const Expr& x, double p) {
  const Expr ratio = x.sink()->Constant(Tensor::Scalar(static_cast<float>(p)), "ratio");
  const Expr off = x.sink()->Constant(Tensor::Scalar(false), "training_mode");
  return Op("Dropout", {x, ratio, off});
}

// [batch, channels, 1, ...] of x, which has that many axes; not valid after an error.
Expr ChannelShape(const Expr& x, const char* what) {
  const int64_t rank = KnownRank(x, what);
  if (rank < 3) {
    if (rank >= 0)
      x.sink()->Fail(
          absl::InvalidArgumentError(absl::StrCat(what, " needs [batch, channels, ...]")));
    return {};
  }
  const std::vector<int64_t> ones(static_cast<size_t>(rank - 2), 1);
  return Concat({Shape(x, 0, 2), x.sink()->Ints(ones)}, 0);
}

// "Self-Normalizing Neural Networks", Klambauer et al. 2017; torch.nn.AlphaDropout's formula.
Expr DropAlpha(const Expr& x, const Expr& shape, double p) {
  constexpr double kAlpha = 1.7580993408473766;  // scale * alpha of SELU
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const Expr kept = Drop(Expand(ScalarLike(x, 1), shape), p) * (1 - p);  // 0 or 1
  const Expr moved = x * (kept * a) + ((kept - 1.0) * (kAlpha * a) + kAlpha * a * p);
  return Where(IsTraining(*x.sink()), moved, x);
}

}  // namespace

Expr IsTraining(ExprSink& sink) {
  const Expr one = sink.Scalar(1, DType::kFloat32);
  return expr::Not(Equal(Drop(one, 0.5), one));
}

Expr AlphaDropout::operator()(const Expr& x) const {
  if (!CheckRatio(x, p) || p == 0) return x;
  return DropAlpha(x, Shape(x), p);
}

Expr FeatureAlphaDropout::operator()(const Expr& x) const {
  if (!CheckRatio(x, p) || p == 0) return x;
  const Expr shape = ChannelShape(x, "FeatureAlphaDropout");
  return shape.valid() ? DropAlpha(x, shape, p) : Expr();
}

Expr Dropout::operator()(const Expr& x) const {
  if (!CheckRatio(x, p) || p == 0) return x;
  return Drop(x, p);
}

// Ones of [batch, channels, 1, ...] are dropped, and multiply.
Expr Dropout2d::operator()(const Expr& x) const {
  if (!CheckRatio(x, p) || p == 0) return x;
  const Expr shape = ChannelShape(x, "Dropout2d");
  if (!shape.valid()) return {};
  return x * Drop(Expand(ScalarLike(x, 1), shape), p);
}

}  // namespace onward::nn
