#include "onward/nn/fractional_max_pool.h"

#include "absl/strings/str_cat.h"
#include "nn/shape_of.h"
#include "onward/functions.h"

namespace onward::nn {
namespace {

struct Axis {
  int64_t at;  // of the tensor
  int64_t in, out, window;
};

void Fail(const Expr& x, const std::string& what) {
  x.sink()->Fail(absl::InvalidArgumentError(
      absl::StrCat("FractionalMaxPool of ", x.type().ToString(), ": ", what)));
}

Expr Numbers(const Expr& x, int64_t count) {
  Tensor tensor(DType::kInt64, {count});
  for (int64_t i = 0; i < count; ++i) tensor.mutable_data<int64_t>()[i] = i;
  return x.sink()->Constant(std::move(tensor), "numbers");
}

// Where the windows begin, int64[batch, channels, out], from a sample [batch, channels, 1]; the
// last one ends with the axis.
Expr Begins(const Expr& x, const Expr& sample, const Axis& axis) {
  const Expr number = Numbers(x, axis.out);
  const double last = static_cast<double>(axis.in - axis.window);
  const double step = axis.out > 1 ? last / static_cast<double>(axis.out - 1) : 0;
  const Expr begins = Floor((Cast(number, x.dtype()) + sample) * step) - Floor(sample * step);
  const Expr is_last = Equal(number, ScalarLike(number, static_cast<double>(axis.out - 1)));
  return Cast(Where(is_last, ScalarLike(x, last), begins), DType::kInt64);
}

Expr Maxima(const Expr& x, const Expr& sample, const Axis& axis, int64_t rank) {
  const Expr members = Unsqueeze(Begins(x, sample, axis), {3}) + Numbers(x, axis.window);
  std::vector<int64_t> beside(static_cast<size_t>(rank), 1);
  beside[0] = beside[1] = 0;
  beside[static_cast<size_t>(axis.at)] = axis.out * axis.window;
  const auto shape_with = [&](const std::vector<int64_t>& sizes) {
    const Expr before = Shape(x, 0, axis.at);
    if (axis.at + 1 == rank) return Concat({before, x.sink()->Ints(sizes)}, 0);
    return Concat({before, x.sink()->Ints(sizes), Shape(x, axis.at + 1, rank)}, 0);
  };
  const Expr picked = Expand(Reshape(members, beside), shape_with({axis.out * axis.window}));
  const Expr elements = Op("GatherElements", {x, picked}, {{"axis", axis.at}});
  return ReduceMax(Reshape(elements, shape_with({axis.out, axis.window})), {axis.at + 1}, false);
}

}  // namespace

Expr FractionalMaxPool::operator()(const Expr& x, const Expr& samples) const {
  const int64_t rank = KnownRank(x, "FractionalMaxPool"), axes = rank - 2;
  if (rank < 0) return {};
  const std::vector<int64_t> window = kernel.For(axes);
  const std::vector<int64_t> sizes = size.empty() ? size : Sizes(size).For(axes);
  const bool by_ratio = size.empty() && (ratio.size() == 1 || ratio.size() == axes);
  if ((axes != 2 && axes != 3) || window.empty() || (sizes.empty() && !by_ratio)) {
    Fail(x,
         "needs two or three axes behind the channels, with a window and a size or ratio for each");
    return {};
  }
  Expr drawn = samples;
  if (!drawn.valid()) {
    const Expr like = Expand(ScalarLike(x, 0), Concat({Shape(x, 0, 2), x.sink()->Ints({axes})}, 0));
    drawn = Op("RandomUniformLike", {like}, {{"low", 0.0f}, {"high", 1.0f}});
  }
  Expr y = x;
  for (int64_t i = 0; i < axes; ++i) {
    const auto k = static_cast<size_t>(i);
    const Dim& dim = (*x.type().shape)[k + 2];
    if (!dim.known()) {
      Fail(x, "needs known sizes");
      return {};
    }
    Axis axis = {2 + i, dim.value(), 0, window[k]};
    axis.out =
        by_ratio
            ? static_cast<int64_t>(static_cast<double>(axis.in) * ratio[ratio.size() == 1 ? 0 : k])
            : sizes[k];
    if (axis.out < 1 || axis.window < 1 || axis.out + axis.window - 1 > axis.in) {
      Fail(x, absl::StrCat("axis ", axis.at, " of size ", axis.in, " does not hold ", axis.out,
                           " windows of ", axis.window));
      return {};
    }
    const int64_t place = axes == 2 ? 1 - i : i;
    y = Maxima(y, Slice(drawn, {place}, {place + 1}, {2}), axis, rank);
  }
  return y;
}

}  // namespace onward::nn
