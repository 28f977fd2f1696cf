// Matrix products.
#include "training/gradient/families.h"
#include "training/gradient/parts.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

bool IsVector(const Expr& x) { return x.type().shape && x.type().shape->size() == 1; }

// The gradient of a matrix that a whole batch is multiplied with: rows as of one product.
Expr GradientOfShared(const Expr& a, const Expr& dy, int64_t rows, int64_t columns) {
  return MatMul(SwapLastAxes(Reshape(a, {-1, rows})), Reshape(dy, {-1, columns}));
}

bool IsSharedMatrix(const Expr& a, const Expr& b) {
  const auto &left = a.type().shape, &right = b.type().shape;
  return left && right && left->size() > 2 && right->size() == 2 && (*right)[0].known() &&
         (*right)[1].known() && (*right)[0].value() > 0 && (*right)[1].value() > 0;
}

// Vectors count as a row on the left and as a column on the right. What has no known rank is taken
// for matrices.
Gradients MatMulRule(const GradientScope& s) {
  Expr a = s.input(0), b = s.input(1), dy = s.upstream(0);
  const bool left = IsVector(a), right = IsVector(b);
  if (right) {
    b = Unsqueeze(b, {1});
    dy = Unsqueeze(dy, {-1});
  }
  if (left) {
    a = Unsqueeze(a, {0});
    dy = Unsqueeze(dy, {-2});
  }
  Expr db = IsSharedMatrix(a, b) ? GradientOfShared(a, dy, (*b.type().shape)[0].value(),
                                                    (*b.type().shape)[1].value())
                                 : MatMul(SwapLastAxes(a), dy);
  if (right) db = Squeeze(db, {-1});
  return {{MatMul(dy, SwapLastAxes(b)), db}};
}

Gradients GemmRule(const GradientScope& s) {
  const bool ta = s.attributes().Int("transA", 0) != 0, tb = s.attributes().Int("transB", 0) != 0;
  const float alpha = s.attributes().Float("alpha", 1), beta = s.attributes().Float("beta", 1);
  const Expr a = s.input(0), b = s.input(1), dy = s.upstream(0);
  const Expr da = ta ? Gemm(b, dy, {}, tb, true, alpha) : Gemm(dy, b, {}, false, !tb, alpha);
  const Expr db = tb ? Gemm(dy, a, {}, true, ta, alpha) : Gemm(a, dy, {}, !ta, false, alpha);
  std::vector<Expr> gradients = {da, db, beta == 1 ? dy : dy * beta};
  gradients.resize(static_cast<size_t>(s.num_inputs()));
  return gradients;
}

constexpr training::GradientEntry kRules[] = {{"Gemm", GemmRule}, {"MatMul", MatMulRule}};

}  // namespace

GradientList MatMulGradients() { return kRules; }

}  // namespace onward::gradient
