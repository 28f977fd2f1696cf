#include "kernels/bind/resize.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "graph/base/scaled_size.h"
#include "onward/status.h"

namespace onward::kernels {
namespace {

bool IsUnchanged(const ResizeAxis& axis) {
  return axis.in == axis.out && axis.scale == 1 && axis.roi_begin == 0 && axis.roi_end == 1;
}

absl::Status ListAxes(const ResizeOptions& options, DimsView dims, ResizeAxes& axes) {
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t count = options.axes.empty() ? rank : static_cast<int64_t>(options.axes.size());
  for (int64_t i = 0; i < count; ++i) {
    ResizeAxis axis;
    ONWARD_ASSIGN_OR_RETURN(
        axis.axis,
        NormalizeAxis(options.axes.empty() ? i : options.axes[static_cast<size_t>(i)], rank));
    axis.in = axis.out = dims[static_cast<size_t>(axis.axis)];
    for (const ResizeAxis& other : axes) {
      if (other.axis == axis.axis)
        return absl::InvalidArgumentError(absl::StrCat("axes: ", axis.axis, " is given twice"));
    }
    axes.push_back(axis);
  }
  return absl::OkStatus();
}

absl::Status KeepAspect(AspectPolicy policy, ResizeAxes& axes) {
  if (axes.empty()) return absl::OkStatus();
  double scale = axes[0].scale;
  for (const ResizeAxis& axis : axes) {
    scale = policy == AspectPolicy::kNotLarger ? std::min(scale, axis.scale)
                                               : std::max(scale, axis.scale);
  }
  for (ResizeAxis& axis : axes) {
    axis.scale = scale;
    const double size = scale * static_cast<double>(axis.in) + 0.5;
    if (size > 9e15) {
      return absl::InvalidArgumentError(
          absl::StrCat("sizes scale axis ", axis.axis, " of size ", axis.in, " by ", scale));
    }
    axis.out = static_cast<int64_t>(size);
  }
  return absl::OkStatus();
}

absl::Status ReadSizes(AspectPolicy policy, const TensorView* scales, const TensorView* sizes,
                       ResizeAxes& axes) {
  const TensorView* given = scales != nullptr ? scales : sizes;
  if ((scales == nullptr) == (sizes == nullptr))
    return absl::InvalidArgumentError("exactly one of scales and sizes must be given");
  if (given->num_elements() != static_cast<int64_t>(axes.size())) {
    return absl::InvalidArgumentError(absl::StrCat(scales != nullptr ? "scales" : "sizes", " has ",
                                                   given->num_elements(), " elements for ",
                                                   axes.size(), " axes"));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto in = static_cast<double>(axes[i].in);
    if (scales != nullptr) {
      const float scale = scales->as<float>()[i];
      axes[i].scale = static_cast<double>(scale);
      const double size = ScaledSize(axes[i].in, scale);
      if (!(axes[i].scale > 0) || !(size <= 9e15))  // infinity times a dim of 0 is NaN
        return absl::InvalidArgumentError(
            absl::StrCat("scales[", i, "] is ", axes[i].scale, ", out of range"));
      axes[i].out = static_cast<int64_t>(size);
    } else {
      axes[i].out = sizes->as<int64_t>()[i];
      if (axes[i].out < 0 || axes[i].out > (int64_t{1} << 52))
        return absl::InvalidArgumentError(
            absl::StrCat("sizes[", i, "] is ", axes[i].out, ", out of range"));
      axes[i].scale = axes[i].in == 0 ? 1 : static_cast<double>(axes[i].out) / in;
    }
  }
  if (sizes != nullptr && policy != AspectPolicy::kStretch) return KeepAspect(policy, axes);
  return absl::OkStatus();
}

absl::Status ReadRoi(const TensorView* roi, ResizeAxes& axes) {
  const size_t count = axes.size();
  if (roi == nullptr || roi->num_elements() != static_cast<int64_t>(2 * count)) {
    return absl::InvalidArgumentError(
        absl::StrCat("roi must have ", 2 * count, " elements for tf_crop_and_resize"));
  }
  DispatchDType(FloatTypes(), roi->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < count; ++i) {
      axes[i].roi_begin = static_cast<double>(roi->as<T>()[i]);
      axes[i].roi_end = static_cast<double>(roi->as<T>()[count + i]);
    }
  });
  return absl::OkStatus();
}

// The value that stands beside `name` in a table of names.
template <typename E, size_t N>
absl::StatusOr<E> Named(const NodeSpec& spec, std::string_view attribute, std::string otherwise,
                        const std::pair<std::string_view, E> (&table)[N]) {
  const std::string name = spec.attributes().String(attribute, std::move(otherwise));
  for (const auto& [known, value] : table) {
    if (name == known) return value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(attribute), " is '", name, "', which the standard does not have"));
}

}  // namespace

absl::StatusOr<ResizeOptions> ReadResizeOptions(const NodeSpec& spec) {
  static constexpr std::pair<std::string_view, ResizeMode> kModes[] = {
      {"nearest", ResizeMode::kNearest},
      {"linear", ResizeMode::kLinear},
      {"cubic", ResizeMode::kCubic}};
  static constexpr std::pair<std::string_view, Coordinates> kCoordinates[] = {
      {"half_pixel", Coordinates::kHalfPixel},
      {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
      {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
      {"align_corners", Coordinates::kAlignCorners},
      {"asymmetric", Coordinates::kAsymmetric},
      {"tf_crop_and_resize", Coordinates::kTfCropAndResize}};
  static constexpr std::pair<std::string_view, NearestMode> kNearest[] = {
      {"round_prefer_floor", NearestMode::kRoundPreferFloor},
      {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
      {"floor", NearestMode::kFloor},
      {"ceil", NearestMode::kCeil}};
  static constexpr std::pair<std::string_view, AspectPolicy> kPolicies[] = {
      {"stretch", AspectPolicy::kStretch},
      {"not_larger", AspectPolicy::kNotLarger},
      {"not_smaller", AspectPolicy::kNotSmaller}};
  ResizeOptions options;
  ONWARD_ASSIGN_OR_RETURN(options.rule.mode, Named(spec, "mode", "nearest", kModes));
  ONWARD_ASSIGN_OR_RETURN(options.rule.coordinates, Named(spec, "coordinate_transformation_mode",
                                                          "half_pixel", kCoordinates));
  ONWARD_ASSIGN_OR_RETURN(options.rule.nearest,
                          Named(spec, "nearest_mode", "round_prefer_floor", kNearest));
  ONWARD_ASSIGN_OR_RETURN(options.policy,
                          Named(spec, "keep_aspect_ratio_policy", "stretch", kPolicies));
  options.rule.antialias = spec.attributes().Int("antialias", 0) != 0;
  options.rule.exclude_outside = spec.attributes().Int("exclude_outside", 0) != 0;
  options.rule.cubic_a = static_cast<double>(spec.attributes().Float("cubic_coeff_a", -0.75f));
  options.extrapolation = spec.attributes().Float("extrapolation_value", 0);
  options.axes = spec.attributes().Ints("axes");
  return options;
}

absl::StatusOr<std::optional<BoundResize>> BindResize(BindContext& context,
                                                      const ResizeOptions& options) {
  const TensorView* values[4] = {};  // of roi, scales and sizes, where not empty
  for (int i = 1; i < 4; ++i) {
    if (!context.has_input(i) || NumElements(context.input_dims(i)) == 0) continue;
    if (i == 1 && options.rule.coordinates != Coordinates::kTfCropAndResize) continue;
    values[i] = context.input_value(i);
    if (values[i] == nullptr) return std::nullopt;
  }
  const DimsView dims = context.input_dims(0);
  ResizeAxes axes;
  ONWARD_RETURN_IF_ERROR(ListAxes(options, dims, axes));
  ONWARD_RETURN_IF_ERROR(ReadSizes(options.policy, values[2], values[3], axes));
  if (options.rule.coordinates == Coordinates::kTfCropAndResize)
    ONWARD_RETURN_IF_ERROR(ReadRoi(values[1], axes));
  Dims out(dims.begin(), dims.end());
  for (const ResizeAxis& axis : axes) {
    out[static_cast<size_t>(axis.axis)] = axis.out;
    if (axis.in == 0 && axis.out > 0)
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis.axis, " has size 0"));
  }
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(0), out).status());
  context.SetOutput(0, out);
  axes.erase(std::remove_if(axes.begin(), axes.end(), IsUnchanged), axes.end());
  if (axes.empty()) context.AliasOutput(0, 0);
  if (NumElements(out) == 0) axes.clear();
  return BoundResize{std::move(out), std::move(axes)};
}

}  // namespace onward::kernels
