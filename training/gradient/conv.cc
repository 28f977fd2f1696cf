// Convolution. The gradient of the input is a transposed convolution; the gradient of the weights
// is a convolution of the input by the output's gradient, with batch and channels exchanged and
// strides and dilations too.
#include "absl/strings/str_cat.h"
#include "training/gradient/families.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas
using Result = absl::StatusOr<std::vector<Expr>>;
using Ints = std::vector<int64_t>;

struct Window {
  Ints kernel, strides, dilations, pads, input, output;
};

absl::StatusOr<Window> WindowOf(const GradientScope& s) {
  const auto& x = s.input(0).type().shape;
  const auto& y = s.output(0).type().shape;
  const std::optional<Dims> w = s.input(1).type().static_dims();
  if (s.attributes().Int("group", 1) != 1)
    return absl::UnimplementedError("grouped convolutions cannot be differentiated");
  if (!x || !y || !w) return absl::UnimplementedError("the shapes are not known");
  const size_t spatial = w->size() - 2;
  Window window;
  window.kernel.assign(w->begin() + 2, w->end());
  window.strides = s.attributes().Ints("strides", Ints(spatial, 1));
  window.dilations = s.attributes().Ints("dilations", Ints(spatial, 1));
  window.pads = s.attributes().Ints("pads", Ints(2 * spatial, 0));
  const std::string auto_pad = s.attributes().String("auto_pad", "NOTSET");
  for (size_t i = 0; i < spatial; ++i) {
    if (!(*x)[2 + i].known() || !(*y)[2 + i].known())
      return absl::UnimplementedError("the spatial sizes are not known");
    window.input.push_back((*x)[2 + i].value());
    window.output.push_back((*y)[2 + i].value());
    if (auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER") continue;
    const int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t total =
        std::max<int64_t>(0, (window.output[i] - 1) * window.strides[i] + extent - window.input[i]);
    const int64_t small = total / 2;
    window.pads[i] = auto_pad == "SAME_UPPER" ? small : total - small;
    window.pads[spatial + i] = total - window.pads[i];
  }
  return window;
}

Expr InputGradient(const GradientScope& s, const Window& w) {
  const size_t spatial = w.kernel.size();
  Ints output_padding;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const int64_t reached =
        (w.output[i] - 1) * w.strides[i] + extent - w.pads[i] - w.pads[spatial + i];
    output_padding.push_back(w.input[i] - reached);
  }
  return Op("ConvTranspose", {s.upstream(0), s.input(1)},
            {{"strides", w.strides},
             {"dilations", w.dilations},
             {"pads", w.pads},
             {"kernel_shape", w.kernel},
             {"output_padding", output_padding}});
}

Expr WeightGradient(const GradientScope& s, const Window& w) {
  const size_t spatial = w.kernel.size();
  Ints exchange = {1, 0}, axes, starts, pads = w.pads;
  for (size_t i = 0; i < spatial; ++i) {
    exchange.push_back(static_cast<int64_t>(2 + i));
    axes.push_back(static_cast<int64_t>(2 + i));
    starts.push_back(0);
  }
  // [filters, channels, k...]: "images" are channels, "channels" are the batch; the step of a tap
  // is its dilation.
  const Expr correlated =
      Op("Conv", {Transpose(s.input(0), exchange), Transpose(s.upstream(0), exchange)},
         {{"strides", w.dilations},
          {"dilations", w.strides},
          {"pads", pads},
          {"kernel_shape", w.output}});
  return Slice(Transpose(correlated, exchange), starts, w.kernel, axes);
}

Result ConvRule(const GradientScope& s) {
  const absl::StatusOr<Window> window = WindowOf(s);
  if (!window.ok()) return window.status();
  std::vector<Expr> gradients = {InputGradient(s, *window), WeightGradient(s, *window)};
  if (s.num_inputs() > 2) {
    Ints axes = {0};
    for (size_t i = 0; i < window->kernel.size(); ++i) axes.push_back(static_cast<int64_t>(2 + i));
    gradients.push_back(ReduceSum(s.upstream(0), axes, false));
  }
  return gradients;
}

constexpr GradientEntry kRules[] = {{"Conv", ConvRule}};

}  // namespace

GradientList ConvGradients() { return kRules; }

}  // namespace onward::gradient
