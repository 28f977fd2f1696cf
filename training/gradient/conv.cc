// Convolutions: each of Conv and ConvTranspose is the other's gradient by its input.
#include "absl/strings/str_cat.h"
#include "graph/ops/onward_schemas.h"
#include "onward/status.h"
#include "training/gradient/families.h"
#include "training/gradient/parts.h"
#include "training/gradient/window.h"

namespace onward::gradient {
namespace {

using namespace expr;  // NOLINT: rules read as formulas

// Over the batch and all positions.
Expr BiasGradient(const Expr& dy, size_t spatial) {
  std::vector<int64_t> axes = {0};
  for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(2 + i));
  return ReduceSum(dy, axes, false);
}

Expr FusedWeightGradient(const Expr& x, const Expr& dy, const Windows& windows, int64_t groups) {
  const Expr sum = Op("ConvWeightGradient", {Widened(x), Widened(dy)},
                      {{"kernel_shape", windows.kernel},
                       {"strides", windows.strides},
                       {"dilations", windows.dilations},
                       {"pads", *windows.fixed_begin},
                       {"group", groups}},
                      kOnwardDomain);
  return Like(sum, x);
}

Gradients ConvRule(const GradientScope& s) {
  const Expr x = s.input(0), weight = s.input(1), dy = s.upstream(0);
  const int64_t groups = s.attributes().Int("group", 1);
  ONWARD_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, KernelOf(s, 1));
  ONWARD_ASSIGN_OR_RETURN(const Windows windows, WindowsOf(s, x, dy, std::move(kernel)));
  std::vector<Expr> gradients = NoGradients(s);
  if (s.wants(0)) gradients[0] = SpreadWindows(dy, weight, windows, groups);
  if (s.wants(1)) {
    gradients[1] = s.allow_onward_ops() && windows.fixed_begin
                       ? FusedWeightGradient(x, dy, windows, groups)
                       : WeightGradient(x, dy, windows, groups);
  }
  if (s.wants(2)) gradients[2] = BiasGradient(dy, windows.spatial());
  return gradients;
}

// Pads of a transposed convolution whose output's size is given: it decides how much is cut off.
absl::StatusOr<std::vector<int64_t>> CutOff(const GradientScope& s,
                                            const std::vector<int64_t>& kernel) {
  const Attributes& attributes = s.attributes();
  const size_t spatial = kernel.size();
  const std::vector<int64_t> zeros(spatial, 0), ones(spatial, 1);
  const std::string auto_pad = attributes.String("auto_pad", "NOTSET");
  const std::vector<int64_t> wanted = attributes.Ints("output_shape");
  if (!wanted.empty() && wanted.size() != spatial && wanted.size() != 2 + spatial)
    return absl::InvalidArgumentError(
        absl::StrCat("output_shape has ", wanted.size(), " numbers, must have ", spatial));
  for (const int64_t size : wanted)
    if (size < 0 || size > int64_t{1} << 30)
      return absl::InvalidArgumentError(
          absl::StrCat("output_shape has a size of ", size, ", must be 0 to 2^30"));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (wanted.empty() && !same) {
    if (auto_pad == "VALID") return std::vector<int64_t>(2 * spatial, 0);
    return ListOr(s, "pads", std::vector<int64_t>(2 * spatial, 0));
  }
  const std::vector<int64_t> strides = ListOr(s, "strides", ones),
                             dilations = ListOr(s, "dilations", ones),
                             extra = ListOr(s, "output_padding", zeros);
  std::vector<int64_t> pads(2 * spatial);
  for (size_t i = 0; i < spatial; ++i) {
    int64_t total = (kernel[i] - 1) * dilations[i] + 1 + extra[i] - strides[i];
    if (!wanted.empty()) {
      const auto& shape = s.input(0).type().shape;
      const Dim size = shape ? (*shape)[2 + i] : Dim();
      if (!size.known()) {
        return absl::UnimplementedError(
            "output_shape over an input whose sizes are not known cannot be differentiated");
      }
      total += size.value() * strides[i] - wanted[wanted.size() - spatial + i];
    }
    total = std::max<int64_t>(0, total);
    pads[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    pads[spatial + i] = total - pads[i];
  }
  return pads;
}

// The windows that read the output and write the input.
Gradients ConvTransposeRule(const GradientScope& s) {
  const Expr x = s.input(0), weight = s.input(1), dy = s.upstream(0);
  const int64_t groups = s.attributes().Int("group", 1);
  ONWARD_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, KernelOf(s, 1));
  ONWARD_RETURN_IF_ERROR(CheckWindows(s, kernel, x, dy));
  const size_t spatial = kernel.size();
  const std::vector<int64_t> zeros(spatial, 0), ones(spatial, 1);
  ONWARD_ASSIGN_OR_RETURN(std::vector<int64_t> begin, CutOff(s, kernel));
  Windows windows;
  windows.pointwise = kernel == ones && begin == std::vector<int64_t>(2 * spatial, 0) &&
                      s.attributes().Ints("output_shape").empty() &&
                      ListOr(s, "output_padding", zeros) == zeros;
  begin.resize(spatial);
  windows.kernel = kernel;
  windows.strides = ListOr(s, "strides", ones);
  windows.dilations = ListOr(s, "dilations", ones);
  PlaceWindows(dy, x, std::move(begin), windows);
  std::vector<Expr> gradients = NoGradients(s);
  if (s.wants(0)) gradients[0] = Convolve(dy, weight, windows, groups);
  if (s.wants(1)) gradients[1] = WeightGradient(dy, x, windows, groups);
  if (s.wants(2)) gradients[2] = BiasGradient(dy, spatial);
  return gradients;
}

constexpr training::GradientEntry kRules[] = {{"Conv", ConvRule},
                                              {"ConvTranspose", ConvTransposeRule}};

}  // namespace

GradientList ConvGradients() { return kRules; }

}  // namespace onward::gradient
