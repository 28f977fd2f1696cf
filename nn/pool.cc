#include "onward/nn/pool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nn/shape_of.h"

namespace onward::nn {
namespace {

// The number of axes of a window: those behind batch and channels; 0 after an error.
int64_t WindowRank(const Expr& x, std::string_view what) {
  const int64_t rank = KnownRank(x, what);
  if (rank >= 3) return rank - 2;
  if (rank >= 0)
    x.sink()->Fail(absl::InvalidArgumentError(absl::StrCat(
        std::string(what), " needs [batch, channels, ...], got ", x.type().ToString())));
  return 0;
}

void FailSizes(const Expr& x, std::string_view what, int64_t rank) {
  x.sink()->Fail(absl::InvalidArgumentError(
      absl::StrCat(std::string(what), " has ", rank, " axes: give one size or ", rank)));
}

struct Window {
  std::vector<int64_t> kernel, stride, pads;
};

std::optional<Window> WindowOf(const Expr& x, std::string_view what, const Sizes& kernel,
                               const std::optional<Sizes>& stride, const Sizes& padding) {
  const int64_t rank = WindowRank(x, what);
  if (rank == 0) return std::nullopt;
  Window window{kernel.For(rank), stride.value_or(kernel).For(rank), padding.For(rank)};
  if (window.kernel.empty() || window.stride.empty() || window.pads.empty()) {
    FailSizes(x, what, rank);
    return std::nullopt;
  }
  window.pads.insert(window.pads.end(), window.pads.begin(), window.pads.begin() + rank);
  return window;
}

Attributes AttributesOf(const Window& window, bool ceil_mode) {
  return {{"kernel_shape", window.kernel},
          {"strides", window.stride},
          {"pads", window.pads},
          {"ceil_mode", int64_t{ceil_mode}}};
}

// The input's sizes where known; empty after an error.
std::vector<int64_t> KnownSizes(const Expr& x, std::string_view what) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : absl::MakeSpan(*x.type().shape).subspan(2)) {
    if (!dim.known()) {
      x.sink()->Fail(absl::InvalidArgumentError(
          absl::StrCat(std::string(what), " needs known sizes, got ", x.type().ToString())));
      return {};
    }
    sizes.push_back(dim.value());
  }
  return sizes;
}

// [out, in]: row i is the mean over the i-th window.
Tensor MeanMatrix(DType dtype, int64_t in, int64_t out) {
  const Init means = {"", [=](DimsView, std::mt19937_64&) {
                        std::vector<double> rows(static_cast<size_t>(in * out), 0.0);
                        for (int64_t i = 0; i < out; ++i) {
                          const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
                          for (int64_t k = begin; k < end; ++k)
                            rows[static_cast<size_t>(i * in + k)] =
                                1.0 / static_cast<double>(end - begin);
                        }
                        return rows;
                      }};
  return Draw(means, dtype, {out, in}, 0, "");
}

// int64[out, longest]: row i has the elements of the i-th window, the last one again where it is
// shorter.
Tensor WindowMembers(int64_t in, int64_t out) {
  int64_t longest = 0;
  const auto begin = [&](int64_t i) { return i * in / out; };
  const auto end = [&](int64_t i) { return ((i + 1) * in + out - 1) / out; };
  for (int64_t i = 0; i < out; ++i) longest = std::max(longest, end(i) - begin(i));
  Tensor members(DType::kInt64, {out, longest});
  for (int64_t i = 0; i < out; ++i) {
    for (int64_t k = 0; k < longest; ++k)
      members.mutable_data<int64_t>()[i * longest + k] = std::min(begin(i) + k, end(i) - 1);
  }
  return members;
}

// Returns whether every axis has equal windows; `window` is theirs.
bool EvenWindows(const std::vector<int64_t>& in, const std::vector<int64_t>& out, Window& window) {
  for (size_t i = 0; i < in.size(); ++i) {
    if (out[i] < 1 || in[i] % out[i] != 0) return false;
    window.kernel.push_back(in[i] / out[i]);
  }
  window.stride = window.kernel;
  window.pads.assign(2 * in.size(), 0);
  return true;
}

bool AllOne(const std::vector<int64_t>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t each) { return each == 1; });
}

}  // namespace

Expr MaxPool::operator()(const Expr& x) const {
  const std::optional<Window> window = WindowOf(x, "MaxPool", kernel, stride, padding);
  if (!window) return {};
  Attributes attributes = AttributesOf(*window, ceil_mode);
  attributes.Set("dilations", dilation.For(static_cast<int64_t>(window->kernel.size())));
  return Op("MaxPool", {x}, std::move(attributes));
}

MaxPool::Found MaxPool::WithIndices(const Expr& x) const {
  const std::optional<Window> window = WindowOf(x, "MaxPool", kernel, stride, padding);
  if (!window) return {};
  Attributes attributes = AttributesOf(*window, ceil_mode);
  attributes.Set("dilations", dilation.For(static_cast<int64_t>(window->kernel.size())));
  const std::vector<Expr> made = Ops("MaxPool", {x}, 2, std::move(attributes));
  return {made[0], made[1]};
}

Expr MaxUnpool::operator()(const Expr& x, const Expr& indices) const {
  const std::optional<Window> window = WindowOf(x, "MaxUnpool", kernel, stride, padding);
  if (!window) return {};
  if (size.empty()) {
    return Op(
        "MaxUnpool", {x, indices},
        {{"kernel_shape", window->kernel}, {"strides", window->stride}, {"pads", window->pads}});
  }
  // The standard's node takes positions for those of the size that the window gives.
  const auto rank = static_cast<int64_t>(window->kernel.size());
  const std::vector<int64_t> sizes = Sizes(size).For(rank);
  if (sizes.empty()) {
    FailSizes(x, "MaxUnpool", rank);
    return {};
  }
  const Expr shape = Concat({Shape(x, 0, 2), x.sink()->Ints(sizes)}, 0);
  const Expr zeros = Expand(ScalarLike(x, 0), ReduceProd(shape, {0}, true));
  const std::vector<int64_t> flat = {-1};
  return Reshape(Op("ScatterElements", {zeros, Reshape(indices, flat), Reshape(x, flat)}), shape);
}

Expr AvgPool::operator()(const Expr& x) const {
  const std::optional<Window> window = WindowOf(x, "AvgPool", kernel, stride, padding);
  if (!window) return {};
  Attributes attributes = AttributesOf(*window, ceil_mode);
  attributes.Set("count_include_pad", int64_t{count_include_pad});
  return Op("AveragePool", {x}, std::move(attributes));
}

Expr LPPool::operator()(const Expr& x) const {
  const std::optional<Window> window = WindowOf(x, "LPPool", kernel, stride, 0);
  if (!window) return {};
  Attributes attributes = AttributesOf(*window, ceil_mode);
  attributes.Set("p", norm);
  return Op("LpPool", {x}, std::move(attributes));
}

Expr AdaptiveAvgPool::operator()(const Expr& x) const {
  const int64_t rank = WindowRank(x, "AdaptiveAvgPool");
  if (rank == 0) return {};
  const std::vector<int64_t> out = size.For(rank);
  if (out.empty()) {
    FailSizes(x, "AdaptiveAvgPool", rank);
    return {};
  }
  if (AllOne(out)) return Op("GlobalAveragePool", {x});
  const std::vector<int64_t> in = KnownSizes(x, "AdaptiveAvgPool");
  if (in.empty()) return {};
  Window window;
  if (EvenWindows(in, out, window)) return Op("AveragePool", {x}, AttributesOf(window, false));
  // Axis by axis, the last one first; the axis in work is brought to the end by turns.
  Expr y = x;
  std::vector<int64_t> turn = {0, 1, rank + 1};
  for (int64_t i = 2; i <= rank; ++i) turn.push_back(i);
  for (int64_t i = rank - 1; i >= 0; --i) {
    const size_t at = static_cast<size_t>(i);
    const Expr means = x.sink()->Constant(MeanMatrix(x.dtype(), in[at], out[at]), "means");
    y = MatMul(y, Transpose(means));
    if (rank > 1) y = Transpose(y, turn);
  }
  return y;
}

Expr AdaptiveMaxPool::operator()(const Expr& x) const {
  const int64_t rank = WindowRank(x, "AdaptiveMaxPool");
  if (rank == 0) return {};
  const std::vector<int64_t> out = size.For(rank);
  if (out.empty()) {
    FailSizes(x, "AdaptiveMaxPool", rank);
    return {};
  }
  if (AllOne(out)) return Op("GlobalMaxPool", {x});
  const std::vector<int64_t> in = KnownSizes(x, "AdaptiveMaxPool");
  if (in.empty()) return {};
  Window window;
  if (EvenWindows(in, out, window)) return Op("MaxPool", {x}, AttributesOf(window, false));
  // Axis by axis: the elements of each window on an axis of their own.
  Expr y = x;
  for (int64_t i = 0; i < rank; ++i) {
    const size_t at = static_cast<size_t>(i);
    const Expr members = x.sink()->Constant(WindowMembers(in[at], out[at]), "windows");
    y = ReduceMax(Gather(y, members, 2 + i), {3 + i}, false);
  }
  return y;
}

Expr Upsample::operator()(const Expr& x) const {
  const int64_t rank = WindowRank(x, "Upsample");
  if (rank == 0) return {};
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) axes.push_back(2 + i);
  const bool nearest = mode == "nearest";
  Attributes attributes = {{"mode", mode}, {"axes", axes}};
  attributes.Set("coordinate_transformation_mode",
                 std::string(nearest         ? "asymmetric"
                             : align_corners ? "align_corners"
                                             : "pytorch_half_pixel"));
  if (nearest) attributes.Set("nearest_mode", std::string("floor"));
  if (mode == "cubic") attributes.Set("cubic_coeff_a", -0.75f);
  const size_t count = static_cast<size_t>(rank);
  if (!size.empty()) {
    const std::vector<int64_t> sizes = Sizes(size).For(rank);
    if (sizes.empty()) FailSizes(x, "Upsample", rank);
    return Op("Resize", {x, {}, {}, x.sink()->Ints(sizes)}, std::move(attributes));
  }
  Tensor scales(DType::kFloat32, {rank});
  for (size_t i = 0; i < count; ++i)
    scales.mutable_data<float>()[i] = scale.size() == 1 || scale.size() == count
                                          ? static_cast<float>(scale[scale.size() == 1 ? 0 : i])
                                          : 0;
  if (scale.size() != 1 && scale.size() != count) FailSizes(x, "Upsample", rank);
  return Op("Resize", {x, {}, x.sink()->Constant(std::move(scales), "scales")},
            std::move(attributes));
}

Expr PixelShuffle::operator()(const Expr& x) const {
  return Op("DepthToSpace", {x}, {{"blocksize", factor}, {"mode", std::string("CRD")}});
}

}  // namespace onward::nn
