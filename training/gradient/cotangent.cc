#include "training/gradient/cotangent.h"

#include <optional>
#include <utility>
#include <vector>

#include "onward/functions.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

struct BroadcastAxes {
  std::vector<int64_t> leading;  // axes that `to` does not have
  std::vector<int64_t> kept;     // axes where it has 1, counted after the leading ones
};

// Nothing where the types do not say.
std::optional<BroadcastAxes> StaticAxes(const Type& from, const Type& to) {
  if (!from.shape || !to.shape || from.shape->size() < to.shape->size()) return std::nullopt;
  BroadcastAxes axes;
  const size_t offset = from.shape->size() - to.shape->size();
  for (size_t i = 0; i < offset; ++i) axes.leading.push_back(static_cast<int64_t>(i));
  for (size_t i = 0; i < to.shape->size(); ++i) {
    const Dim &have = (*from.shape)[offset + i], &want = (*to.shape)[i];
    if (have.SameAs(want) || (want.known() && want.value() != 1)) continue;
    if (want != Dim(1)) return std::nullopt;
    axes.kept.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

Expr ElementAt(const Expr& sequence, const Expr& position) {
  return Op("SequenceAt", {sequence, position});
}

// The sequence of what `element` makes of each position.
template <typename Element>
Expr MapSequence(const Expr& sequence, const Element& element) {
  ExprSink& sink = *sequence.sink();
  const Expr first = sink.Op("SequenceEmpty", {},
                             {{"dtype", static_cast<int64_t>(sequence.type().element->dtype)}});
  return sink.Loop(
      Op("SequenceLength", {sequence}), {}, {first},
      [&](ExprSink& body, const Expr& i, const std::vector<Expr>& carried) {
        return BodyResult{{}, {body.Op("SequenceInsert", {carried[0], element(i)})}, {}};
      })[0];
}

}  // namespace

Expr SumTo(const Expr& gradient, const Expr& to) {
  if (!gradient.type().is_tensor() || !to.type().is_tensor()) return gradient;
  if (const auto axes = StaticAxes(gradient.type(), to.type())) {
    const Expr sum = axes->leading.empty() ? gradient : ReduceSum(gradient, axes->leading, false);
    return axes->kept.empty() ? sum : ReduceSum(sum, axes->kept, true);
  }
  ExprSink& sink = *gradient.sink();
  const Expr have = Shape(gradient), want = Shape(to);
  const Expr ones = Expand(sink.Ints({1}), Reshape(Size(have) - Size(want), {1}));
  const Expr differ = Not(Equal(expr::Concat({ones, want}, 0), have));
  const Expr axes = Reshape(Op("NonZero", {differ}), {-1});
  return Reshape(ReduceSumOver(gradient, axes, true), want, true);
}

Expr AddCotangents(const Expr& a, const Expr& b) {
  if (a.type().kind != Type::Kind::kSequence) return a + b;
  return MapSequence(a, [&](const Expr& i) { return ElementAt(a, i) + ElementAt(b, i); });
}

Expr ZeroCotangent(const Expr& like) {
  if (like.type().kind != Type::Kind::kSequence) return ZerosLike(like);
  return MapSequence(like, [&](const Expr& i) { return ZerosLike(ElementAt(like, i)); });
}

}  // namespace onward::gradient
