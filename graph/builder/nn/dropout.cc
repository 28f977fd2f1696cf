#include "graph/builder/nn/dropout.h"

#include "absl/strings/str_cat.h"
#include "graph/builder/nn/shape_of.h"

namespace onward::nn {
namespace {

bool CheckRatio(const Expr& x, double p) {
  if (!x.valid()) return false;
  if (p >= 0 && p < 1) return true;
  x.sink()->Fail(absl::InvalidArgumentError(absl::StrCat("a dropout of ", p, " is not in [0, 1)")));
  return false;
}

Expr Drop(const Expr& x, double p) {
  const Expr ratio = x.sink()->Constant(Tensor::Scalar(static_cast<float>(p)), "ratio");
  const Expr off = x.sink()->Constant(Tensor::Scalar(false), "training_mode");
  return Op("Dropout", {x, ratio, off});
}

}  // namespace

Expr Dropout::operator()(const Expr& x) const {
  if (!CheckRatio(x, p) || p == 0) return x;
  return Drop(x, p);
}

// Ones of [batch, channels, 1, ...] are dropped, and multiply.
Expr Dropout2d::operator()(const Expr& x) const {
  if (!CheckRatio(x, p) || p == 0) return x;
  const int64_t rank = KnownRank(x, "Dropout2d");
  if (rank < 3) {
    if (rank >= 0)
      x.sink()->Fail(absl::InvalidArgumentError("Dropout2d needs [batch, channels, ...]"));
    return {};
  }
  std::vector<int64_t> ones(static_cast<size_t>(rank - 2), 1);
  const Expr shape = Concat({Shape(x, 0, 2), x.sink()->Ints(ones)}, 0);
  return x * Drop(Expand(ScalarLike(x, 1), shape), p);
}

}  // namespace onward::nn
