#include "onward/nn/pad.h"

#include "absl/strings/str_cat.h"
#include "nn/shape_of.h"

namespace onward::nn {
namespace {

// The standard's pads of `rank` axes: all begins, then all ends. Empty after an error.
std::vector<int64_t> PadsOf(const Expr& x, const std::vector<int64_t>& padding) {
  const int64_t rank = KnownRank(x, "padding");
  if (rank < 0) return {};
  std::vector<int64_t> pairs = padding;
  if (pairs.size() == 1 && rank > 2) pairs.assign(static_cast<size_t>(2 * (rank - 2)), padding[0]);
  const auto axes = static_cast<int64_t>(pairs.size() / 2);
  if (pairs.empty() || pairs.size() % 2 != 0 || axes > rank) {
    x.sink()->Fail(absl::InvalidArgumentError(
        absl::StrCat("padding of ", x.type().ToString(), " by ", padding.size(),
                     " numbers: give one, or two for each of the last axes")));
    return {};
  }
  std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t axis = rank - 1 - i;
    pads[static_cast<size_t>(axis)] = pairs[static_cast<size_t>(2 * i)];
    pads[static_cast<size_t>(rank + axis)] = pairs[static_cast<size_t>(2 * i + 1)];
  }
  return pads;
}

Expr Padded(const Expr& x, const std::vector<int64_t>& padding, const char* mode) {
  if (!x.valid()) return {};
  const std::vector<int64_t> pads = PadsOf(x, padding);
  if (pads.empty()) return {};
  return Op("Pad", {x, x.sink()->Ints(pads)}, {{"mode", std::string(mode)}});
}

}  // namespace

Expr ConstantPad::operator()(const Expr& x) const {
  if (!x.valid()) return {};
  const std::vector<int64_t> pads = PadsOf(x, padding);
  if (pads.empty()) return {};
  return Op("Pad", {x, x.sink()->Ints(pads), ScalarLike(x, value)});
}
Expr ZeroPad::operator()(const Expr& x) const { return Padded(x, padding, "constant"); }
Expr ReflectionPad::operator()(const Expr& x) const { return Padded(x, padding, "reflect"); }
Expr ReplicationPad::operator()(const Expr& x) const { return Padded(x, padding, "edge"); }
Expr CircularPad::operator()(const Expr& x) const { return Padded(x, padding, "wrap"); }

}  // namespace onward::nn
