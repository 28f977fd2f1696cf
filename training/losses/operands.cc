#include "training/losses/operands.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graph/ops/onward_schemas.h"
#include "onward/dtype.h"
#include "onward/functions.h"
#include "training/rewrite/training_names.h"

namespace onward::loss {
namespace {

using expr::Shape;

std::string Name(const Expr& x) { return training::QuotedUserName(x.sink()->NameOf(x.id())); }

std::string DimsText(const SymbolicDims& dims) {
  return absl::StrCat(
      "[",
      absl::StrJoin(dims, ",",
                    [](std::string* out, const Dim& dim) { absl::StrAppend(out, dim.ToString()); }),
      "]");
}

std::string ShapeText(const Expr& x) {
  const auto& shape = x.type().shape;
  return shape ? DimsText(*shape) : "[...]";
}

enum class Fit { kYes, kNo, kUnknown };

Fit Combine(Fit a, Fit b) {
  if (a == Fit::kNo || b == Fit::kNo) return Fit::kNo;
  return a == Fit::kUnknown || b == Fit::kUnknown ? Fit::kUnknown : Fit::kYes;
}

Fit Same(const Dim& a, const Dim& b) {
  if (a.SameAs(b)) return Fit::kYes;
  return a.known() && b.known() ? Fit::kNo : Fit::kUnknown;
}

Fit Equals(const SymbolicDims& got, const SymbolicDims& expected) {
  if (got.size() != expected.size()) return Fit::kNo;
  Fit fit = Fit::kYes;
  for (size_t i = 0; i < got.size(); ++i) fit = Combine(fit, Same(got[i], expected[i]));
  return fit;
}

Fit Broadcasts(const SymbolicDims& got, const SymbolicDims& to) {
  if (got.size() > to.size()) return Fit::kNo;
  Fit fit = Fit::kYes;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].known() && got[i].value() == 1) continue;
    fit = Combine(fit, Same(got[i], to[to.size() - got.size() + i]));
  }
  return fit;
}

struct Requirement {
  Expr got;
  std::optional<SymbolicDims> dims;  // that `got` must have, as far as they are known
  std::function<Expr()> expected;    // the same as a value
  Expr of;                           // beside it in the message
  bool broadcasts = false;
  std::string message;  // with {got}, {expected} and {of}
};

// `got` itself, an error now, or a node that knows it later.
Expr Required(const Requirement& what) {
  ExprSink& sink = *what.got.sink();
  const auto& shape = what.got.type().shape;
  Fit fit = Fit::kUnknown;
  if (shape && what.dims)
    fit = what.broadcasts ? Broadcasts(*shape, *what.dims) : Equals(*shape, *what.dims);
  if (fit == Fit::kYes) return what.got;
  if (fit == Fit::kNo) {
    sink.Fail(absl::InvalidArgumentError(
        absl::StrReplaceAll(what.message, {{"{got}", ShapeText(what.got)},
                                           {"{expected}", DimsText(*what.dims)},
                                           {"{of}", ShapeText(what.of)}})));
    return {};
  }
  return expr::Op("RequireShape", {what.got, what.expected(), Shape(what.of)},
                  {{"message", what.message}, {"broadcasts", int64_t{what.broadcasts}}},
                  kOnwardDomain);
}

std::optional<SymbolicDims> Without(const Expr& x, int64_t axis) {
  std::optional<SymbolicDims> dims = x.type().shape;
  if (!dims) return dims;
  const auto rank = static_cast<int64_t>(dims->size());
  const int64_t from = axis < 0 ? axis + rank : axis;
  if (from < 0 || from >= rank) return std::nullopt;
  dims->erase(dims->begin() + from);
  return dims;
}

bool AllValid(std::initializer_list<Expr> operands) {
  return std::all_of(operands.begin(), operands.end(),
                     [](const Expr& each) { return each.valid(); });
}

}  // namespace

Expr Refused(const Expr& x, const std::string& message) {
  if (x.valid()) x.sink()->Fail(absl::InvalidArgumentError(message));
  return {};
}

Expr SameShape(const std::string& loss, const Expr& x, const Expr& target,
               const std::string& what) {
  if (!AllValid({x, target})) return {};
  Requirement same{target, x.type().shape, [&] { return Shape(x); }, x, false, ""};
  same.message = absl::StrCat(
      "loss ", loss, ": the ", what, " ", Name(target), " has the shape {got}, ", Name(x),
      " has {of}; they must be equal, nothing is broadcast. Give the ", what,
      " the missing axis (`dim: 1` of a csv or jsonl field), or squeeze the model's output");
  const Expr fitted = Required(same);
  if (!fitted.valid() || fitted.dtype() == x.dtype()) return fitted;
  return CastLike(fitted, x);
}

Expr WeightOf(const std::string& loss, const Expr& x, const Expr& weight, const std::string& what) {
  if (!AllValid({x, weight})) return {};
  Requirement fits{weight, x.type().shape, [&] { return Shape(x); }, x, true, ""};
  fits.message = absl::StrCat("loss ", loss, ": ", what, " has the shape {got}, ", Name(x),
                              " has {of}, to which it must broadcast: one number, or one for each "
                              "element of the last axis");
  return Required(fits);
}

Expr ClassTarget(const std::string& loss, const Expr& x, const Expr& target, int64_t axis) {
  if (!AllValid({x, target})) return {};
  const auto expected = [&] {
    if (axis == -1) return Shape(x, 0, -1);
    const Expr before = Shape(x, 0, axis), after = Shape(x, axis + 1, INT64_MAX);
    return expr::Concat({before, after}, 0);
  };
  Requirement classes{target, Without(x, axis), expected, x, false, ""};
  classes.message = absl::StrCat(
      "loss ", loss, ": the target ", Name(target), " has the shape {got}, for the scores ",
      Name(x), " of {of} it must have {expected}, a class for each row of scores along axis ", axis,
      ". Read a label as one number without `dim`, or squeeze it");
  return Required(classes);
}

Expr OnePer(const std::string& loss, const Expr& x, int64_t axis, const Expr& operand,
            const std::string& what) {
  if (!AllValid({x, operand})) return {};
  std::optional<SymbolicDims> dims;
  const auto& shape = x.type().shape;
  if (shape && axis < static_cast<int64_t>(shape->size()))
    dims = SymbolicDims{(*shape)[static_cast<size_t>(axis)]};
  Requirement each{operand, dims, [&] { return Shape(x, axis, axis + 1); }, x, false, ""};
  each.message =
      absl::StrCat("loss ", loss, ": ", what, " ", Name(operand), " has the shape {got}, for ",
                   Name(x), " of {of} it must have {expected}: one for each of axis ", axis);
  return Required(each);
}

Expr RowPer(const std::string& loss, const Expr& x, const Expr& target) {
  if (!AllValid({x, target})) return {};
  const auto &shape = x.type().shape, &given = target.type().shape;
  const bool matrix = given && given->size() == 2;
  const auto expected = [&] { return expr::Concat({Shape(x, 0, 1), Shape(target, 1, 2)}, 0); };
  Requirement rows{target, std::nullopt, expected, x, false, ""};
  if (shape && !shape->empty()) rows.dims = SymbolicDims{(*shape)[0], matrix ? (*given)[1] : Dim()};
  rows.message = absl::StrCat("loss ", loss, ": the target ", Name(target),
                              " has the shape {got}, for the scores ", Name(x),
                              " of {of} it must have {expected}: a list of labels for each row");
  return Required(rows);
}

bool IsInteger(const std::string& loss, const Expr& operand, const std::string& what) {
  if (!operand.valid()) return false;
  if (onward::IsInteger(operand.dtype())) return true;
  operand.sink()->Fail(absl::InvalidArgumentError(absl::StrCat(
      "loss ", loss, ": ", what, " ", Name(operand), " is ", operand.type().ToString(),
      ", must be of integers: cast it to int64 (`element: INT64` of a csv or jsonl field)")));
  return false;
}

Expr Probability(const std::string& loss, const Expr& x, const Expr& named, const std::string& what,
                 const std::string& advice) {
  if (!x.valid()) return x;
  return expr::Op(
      "RequireRange", {x},
      {{"name", absl::StrCat("loss ", loss, ": ", what, " ", Name(named))}, {"advice", advice}},
      kOnwardDomain);
}

}  // namespace onward::loss
