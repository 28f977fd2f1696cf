#include "onward/nn/rearrange.h"

#include "absl/strings/str_cat.h"
#include "nn/shape_of.h"

namespace onward::nn {
namespace {

void Fail(const Expr& x, std::string message) {
  x.sink()->Fail(absl::InvalidArgumentError(std::move(message)));
}

// The known number of channels of x, whose rank is `rank` (0: any from 2 on); 0 after an error.
int64_t ChannelsOf(const Expr& x, int64_t rank, const char* what) {
  if (KnownRank(x, what) < 0) return 0;
  const auto& shape = *x.type().shape;
  const bool fits = rank == 0 ? shape.size() >= 2 : static_cast<int64_t>(shape.size()) == rank;
  if (fits && shape[1].known()) return shape[1].value();
  Fail(x, absl::StrCat(what, " needs ",
                       rank == 0 ? "[batch, channels, ...]" : "[batch, channels, height, width]",
                       " with a known number of channels, got ", x.type().ToString()));
  return 0;
}

struct Windows {
  std::vector<int64_t> kernel, dilation, padding, stride;
};

// Reads windows over two axes; an empty kernel after an error.
Windows WindowsOf(const Expr& x, const char* what, const Sizes& kernel, const Sizes& dilation,
                  const Sizes& padding, const Sizes& stride) {
  Windows made{kernel.For(2), dilation.For(2), padding.For(2), stride.For(2)};
  if (made.kernel.empty() || made.dilation.empty() || made.padding.empty() || made.stride.empty()) {
    Fail(x, absl::StrCat(what, " has two axes: give one size or two"));
    return {};
  }
  made.padding.insert(made.padding.end(), made.padding.begin(), made.padding.begin() + 2);
  return made;
}

}  // namespace

// The standard's SpaceToDepth has the channels last within a block, PyTorch has them first.
Expr PixelUnshuffle::operator()(const Expr& x) const {
  if (!x.valid()) return {};
  const int64_t channels = ChannelsOf(x, 4, "PixelUnshuffle");
  if (channels == 0) return {};
  const Expr y = Op("SpaceToDepth", {x}, {{"blocksize", factor}});
  const Expr apart =
      ReshapeTo(y, {ShapePart::Axis(y, 0), ShapePart::Number(factor * factor),
                    ShapePart::Number(channels), ShapePart::Axis(y, 2), ShapePart::Axis(y, 3)});
  return ReshapeTo(Transpose(apart, {0, 2, 1, 3, 4}),
                   {ShapePart::Axis(y, 0), ShapePart::Number(channels * factor * factor),
                    ShapePart::Axis(y, 2), ShapePart::Axis(y, 3)});
}

Expr ChannelShuffle::operator()(const Expr& x) const {
  if (!x.valid()) return {};
  const int64_t channels = ChannelsOf(x, 0, "ChannelShuffle");
  if (channels == 0) return {};
  if (groups < 1 || channels % groups != 0) {
    Fail(x,
         absl::StrCat("ChannelShuffle: ", groups, " groups do not divide ", channels, " channels"));
    return {};
  }
  Tensor order(DType::kInt64, {channels});
  const int64_t each = channels / groups;
  for (int64_t i = 0; i < channels; ++i)
    order.mutable_data<int64_t>()[i] = i % groups * each + i / groups;
  return Gather(x, x.sink()->Constant(std::move(order), "order"), 1);
}

// A convolution whose filters each take one element of the window.
Expr Unfold::operator()(const Expr& x) const {
  if (!x.valid()) return {};
  const int64_t channels = ChannelsOf(x, 4, "Unfold");
  if (channels == 0) return {};
  const Windows windows = WindowsOf(x, "Unfold", kernel, dilation, padding, stride);
  if (windows.kernel.empty()) return {};
  const int64_t area = windows.kernel[0] * windows.kernel[1];
  const Init one = {"", [=](DimsView dims, std::mt19937_64&) {
                      std::vector<double> ones(static_cast<size_t>(dims[0] * area), 0.0);
                      for (int64_t i = 0; i < dims[0]; ++i)
                        ones[static_cast<size_t>(i * area + i % area)] = 1;
                      return ones;
                    }};
  const Tensor filters =
      Draw(one, x.dtype(), {channels * area, 1, windows.kernel[0], windows.kernel[1]}, 0, "");
  const Expr y = Op("Conv", {x, x.sink()->Constant(filters, "windows")},
                    {{"strides", windows.stride},
                     {"dilations", windows.dilation},
                     {"pads", windows.padding},
                     {"group", channels}});
  return Reshape(y, {0, 0, -1});
}

Expr Fold::operator()(const Expr& x) const {
  if (!x.valid()) return {};
  const Windows windows = WindowsOf(x, "Fold", kernel, dilation, padding, stride);
  if (windows.kernel.empty()) return {};
  const std::vector<int64_t> sizes = Sizes(size).For(2);
  if (sizes.empty()) {
    Fail(x, "Fold has two axes: give one size or two");
    return {};
  }
  return Op(
      "Col2Im", {x, x.sink()->Ints(sizes), x.sink()->Ints(windows.kernel)},
      {{"strides", windows.stride}, {"dilations", windows.dilation}, {"pads", windows.padding}});
}

}  // namespace onward::nn
