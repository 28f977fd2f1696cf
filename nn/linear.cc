#include "onward/nn/linear.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "nn/shape_of.h"

namespace onward::nn {

Expr LinearOf(const Expr& x, const Expr& weight, const Expr& bias) {
  const int64_t rank = KnownRank(x, "Linear");
  if (rank < 0 || !weight.valid()) return {};
  const int64_t in = (*weight.type().shape)[1].value(), out = (*weight.type().shape)[0].value();
  if (rank == 0 || !(*x.type().shape)[static_cast<size_t>(rank - 1)].SameAs(Dim(in))) {
    x.sink()->Fail(absl::InvalidArgumentError(
        absl::StrCat("a linear layer of ", in, " features cannot take ", x.type().ToString())));
    return {};
  }
  if (rank == 2) return Gemm(x, weight, bias, false, true);
  const Expr y = Gemm(Reshape(x, {-1, in}), weight, bias, false, true);
  std::vector<ShapePart> shape;
  for (int64_t i = 0; i + 1 < rank; ++i) shape.push_back(ShapePart::Axis(x, i));
  shape.push_back(ShapePart::Number(out));
  return ReshapeTo(y, shape);
}

Linear::Linear(Module& parent, std::string_view name, int64_t in, int64_t out)
    : Linear(parent, name, in, out, Options()) {}

Linear::Linear(Module& parent, std::string_view name, int64_t in, int64_t out,
               const Options& options)
    : Layer(parent, name) {
  weight = AddParameter("weight", {out, in}, init::KaimingUniform(std::sqrt(5.0)));
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  if (options.bias) bias = AddParameter("bias", {out}, init::Uniform(-bound, bound));
}

Bilinear::Bilinear(Module& parent, std::string_view name, int64_t in1, int64_t in2, int64_t out,
                   bool with_bias)
    : Module(parent, name) {
  const double bound = 1 / std::sqrt(static_cast<double>(in1));
  weight = AddParameter("weight", {out, in1, in2}, init::Uniform(-bound, bound));
  if (with_bias) bias = AddParameter("bias", {out}, init::Uniform(-bound, bound));
}

Expr Bilinear::operator()(const Expr& a, const Expr& b) {
  const Scope scope(*this);
  const Expr y = Op("Einsum", {a, weight, b}, {{"equation", std::string("...i,kij,...j->...k")}});
  return bias.valid() ? y + bias : y;
}

Expr Flatten::operator()(const Expr& x) const {
  const int64_t rank = KnownRank(x, "Flatten");
  if (rank < 0) return {};
  const int64_t first = start < 0 ? start + rank : start, last = end < 0 ? end + rank : end;
  if (first < 0 || last >= rank || first > last) {
    x.sink()->Fail(absl::InvalidArgumentError(absl::StrCat(
        "Flatten: axes ", start, " to ", end, " are out of range for ", x.type().ToString())));
    return {};
  }
  int64_t size = 1;
  bool known = true;
  for (int64_t i = first; i <= last; ++i) {
    const Dim& dim = (*x.type().shape)[static_cast<size_t>(i)];
    known &= dim.known();
    if (known) size *= dim.value();
  }
  std::vector<ShapePart> parts;
  for (int64_t i = 0; i < first; ++i) parts.push_back(ShapePart::Axis(x, i));
  int others = 0;
  for (int64_t i = last + 1; i < rank; ++i)
    others += !(*x.type().shape)[static_cast<size_t>(i)].known();
  if (!known) {
    // The product is what is left, when every other dim is copied by its place or known.
    std::vector<int64_t> target(static_cast<size_t>(first), 0);
    target.push_back(-1);
    if (others == 0) {
      for (int64_t i = last + 1; i < rank; ++i)
        target.push_back((*x.type().shape)[static_cast<size_t>(i)].value());
      return Reshape(x, target);
    }
    const Expr product = ReduceProd(Shape(x, first, last + 1));
    return Reshape(x, Concat({Shape(x, 0, first), product, Shape(x, last + 1, rank)}, 0), true);
  }
  parts.push_back(ShapePart::Number(size));
  for (int64_t i = last + 1; i < rank; ++i) parts.push_back(ShapePart::Axis(x, i));
  return ReshapeTo(x, parts);
}

Expr Unflatten::operator()(const Expr& x) const {
  const int64_t rank = KnownRank(x, "Unflatten");
  if (rank < 0) return {};
  const int64_t at = axis < 0 ? axis + rank : axis;
  std::vector<ShapePart> parts;
  for (int64_t i = 0; i < at; ++i) parts.push_back(ShapePart::Axis(x, i));
  for (const int64_t size : sizes) parts.push_back(ShapePart::Number(size));
  for (int64_t i = at + 1; i < rank; ++i) parts.push_back(ShapePart::Axis(x, i));
  return ReshapeTo(x, parts);
}

}  // namespace onward::nn
