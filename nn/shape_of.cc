#include "nn/shape_of.h"

#include "absl/strings/str_cat.h"

namespace onward::nn {
namespace {

std::optional<int64_t> Known(const ShapePart& part) {
  if (!part.of.valid()) return part.number;
  const auto& shape = part.of.type().shape;
  if (!shape || part.axis >= static_cast<int64_t>(shape->size())) return std::nullopt;
  const Dim& dim = (*shape)[static_cast<size_t>(part.axis)];
  if (!dim.known()) return std::nullopt;
  return dim.value();
}

}  // namespace

int64_t KnownRank(const Expr& x, std::string_view what) {
  if (!x.valid()) return -1;
  if (x.type().is_tensor() && x.type().shape) return static_cast<int64_t>(x.type().shape->size());
  x.sink()->Fail(absl::InvalidArgumentError(absl::StrCat(
      std::string(what), ": the rank of '", x.sink()->NameOf(x.id()), "' must be known")));
  return -1;
}

bool HasChannels(const Expr& x, int64_t channels, int64_t rank, std::string_view what) {
  if (!x.valid()) return false;
  const auto& shape = x.type().shape;
  if (!x.type().is_tensor() || !shape) return true;
  const bool fits = shape->size() >= 2 &&
                    (rank == 0 || static_cast<int64_t>(shape->size()) == rank) &&
                    (!(*shape)[1].known() || (*shape)[1].value() == channels);
  if (!fits) {
    x.sink()->Fail(absl::InvalidArgumentError(absl::StrCat(
        std::string(what), " of ", channels, " channels",
        rank == 0 ? "" : absl::StrCat(" and rank ", rank), " cannot take ", x.type().ToString())));
  }
  return fits;
}

Expr ReshapeTo(const Expr& x, const std::vector<ShapePart>& parts) {
  if (!x.valid()) return {};
  std::vector<int64_t> numbers;
  int open = 0;
  bool zero = false;
  for (const ShapePart& part : parts) {
    const std::optional<int64_t> known = Known(part);
    open += !known;
    zero |= known == 0;
    numbers.push_back(known.value_or(-1));
  }
  // -1 cannot be found beside a size of 0.
  if (open == 0 || (open == 1 && !zero)) return Reshape(x, numbers, open == 0);
  std::vector<Expr> pieces;
  for (size_t i = 0; i < parts.size(); ++i) {
    pieces.push_back(numbers[i] >= 0 ? x.sink()->Ints({numbers[i]})
                                     : Shape(parts[i].of, parts[i].axis, parts[i].axis + 1));
  }
  return Reshape(x, expr::Concat(pieces, 0), true);
}

}  // namespace onward::nn
