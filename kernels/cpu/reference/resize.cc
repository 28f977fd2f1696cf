// Resize: one pass per axis that changes. Each output position is a weighted sum of a few input
// positions of its axis; the nearest mode moves elements of any type.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "graph/base/scaled_size.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/mapped_copy.h"
#include "kernels/cpu/reference/resize_axis.h"
#include "kernels/cpu/reference/resize_passes.h"
#include "onward/memory_limit.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

enum class AspectPolicy { kStretch, kNotLarger, kNotSmaller };

struct ResizeOptions {
  ResizeRule rule;
  AspectPolicy policy = AspectPolicy::kStretch;
  std::vector<int64_t> axes;
  float extrapolation = 0;
};

void RunNearest(const RunContext& context, float extrapolation) {
  const DType dtype = context.input(0).dtype;
  DispatchElement(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T fill = T();
    if constexpr (!std::is_same_v<T, std::string>) StoreExtrapolation(dtype, extrapolation, &fill);
    RunMappedCopy(context, context.state<MappedCopy>(), context.in<T>(0), fill, context.out<T>(0));
  });
}

class Resize : public Kernel {
 public:
  Resize(ResizeOptions options, RunResize run, int64_t accumulator_size)
      : options_(std::move(options)), run_(run), accumulator_size_(accumulator_size) {}

  absl::Status Bind(BindContext& context) const override {
    const TensorView* values[4] = {};  // of roi, scales and sizes, where not empty
    for (int i = 1; i < 4; ++i) {
      if (!context.has_input(i) || NumElements(context.input_dims(i)) == 0) continue;
      if (i == 1 && options_.rule.coordinates != Coordinates::kTfCropAndResize) continue;
      values[i] = context.input_value(i);
      if (values[i] == nullptr) return context.Defer();
    }
    const DimsView dims = context.input_dims(0);
    absl::InlinedVector<ResizeAxis, 4> axes;
    ONWARD_RETURN_IF_ERROR(ListAxes(dims, axes));
    ONWARD_RETURN_IF_ERROR(ReadSizes(values[2], values[3], axes));
    if (options_.rule.coordinates == Coordinates::kTfCropAndResize)
      ONWARD_RETURN_IF_ERROR(ReadRoi(values[1], axes));
    Dims out(dims.begin(), dims.end());
    for (const ResizeAxis& axis : axes) {
      out[static_cast<size_t>(axis.axis)] = axis.out;
      if (axis.in == 0 && axis.out > 0)
        return absl::InvalidArgumentError(absl::StrCat("axis ", axis.axis, " has size 0"));
    }
    ONWARD_ASSIGN_OR_RETURN(const int64_t bytes, CheckedByteSize(context.input_dtype(0), out));
    ONWARD_RETURN_IF_ERROR(CheckMemory(bytes));
    context.SetOutput(0, out);
    axes.erase(std::remove_if(axes.begin(), axes.end(), IsUnchanged), axes.end());
    if (axes.empty()) context.AliasOutput(0, 0);
    if (NumElements(out) == 0) axes.clear();
    if (options_.rule.mode == ResizeMode::kNearest) {
      BindNearest(context, dims, out, axes);
    } else {
      BindPasses(context, dims, axes);
    }
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    if (context.output(0).data != context.input(0).data) run_(context, options_.extrapolation);
    return absl::OkStatus();
  }

 private:
  using Axes = absl::InlinedVector<ResizeAxis, 4>;

  static bool IsUnchanged(const ResizeAxis& axis) {
    return axis.in == axis.out && axis.scale == 1 && axis.roi_begin == 0 && axis.roi_end == 1;
  }

  absl::Status ListAxes(DimsView dims, Axes& axes) const {
    const auto rank = static_cast<int64_t>(dims.size());
    const int64_t count = options_.axes.empty() ? rank : static_cast<int64_t>(options_.axes.size());
    for (int64_t i = 0; i < count; ++i) {
      ResizeAxis axis;
      ONWARD_ASSIGN_OR_RETURN(
          axis.axis,
          NormalizeAxis(options_.axes.empty() ? i : options_.axes[static_cast<size_t>(i)], rank));
      axis.in = axis.out = dims[static_cast<size_t>(axis.axis)];
      for (const ResizeAxis& other : axes) {
        if (other.axis == axis.axis)
          return absl::InvalidArgumentError(absl::StrCat("axes: ", axis.axis, " is given twice"));
      }
      axes.push_back(axis);
    }
    return absl::OkStatus();
  }

  absl::Status ReadSizes(const TensorView* scales, const TensorView* sizes, Axes& axes) const {
    const TensorView* given = scales != nullptr ? scales : sizes;
    if ((scales == nullptr) == (sizes == nullptr))
      return absl::InvalidArgumentError("exactly one of scales and sizes must be given");
    if (given->num_elements() != static_cast<int64_t>(axes.size())) {
      return absl::InvalidArgumentError(absl::StrCat(scales != nullptr ? "scales" : "sizes",
                                                     " has ", given->num_elements(),
                                                     " elements for ", axes.size(), " axes"));
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
    if (sizes != nullptr && options_.policy != AspectPolicy::kStretch) return KeepAspect(axes);
    return absl::OkStatus();
  }

  absl::Status KeepAspect(Axes& axes) const {
    if (axes.empty()) return absl::OkStatus();
    double scale = axes[0].scale;
    for (const ResizeAxis& axis : axes) {
      scale = options_.policy == AspectPolicy::kNotLarger ? std::min(scale, axis.scale)
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

  static absl::Status ReadRoi(const TensorView* roi, Axes& axes) {
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

  Pass TapsOf(BindContext& context, const ResizeAxis& axis) const {
    Pass pass;
    pass.in = axis.in, pass.out = axis.out;
    pass.taps = ResizeTaps(options_.rule, axis.scale);
    const int64_t count = pass.out * pass.taps;
    auto* positions = context.NewArray<int64_t>(count);
    auto* weights = context.NewArray<double>(count);
    FillResizeTaps(options_.rule, axis, pass.taps,
                   absl::MakeSpan(positions, static_cast<size_t>(count)),
                   absl::MakeSpan(weights, static_cast<size_t>(count)));
    auto* rounded = context.NewArray<float>(count);
    for (int64_t i = 0; i < count; ++i) rounded[i] = static_cast<float>(weights[i]);
    pass.positions = positions;
    pass.weights = weights;
    pass.float_weights = rounded;
    return pass;
  }

  void BindPasses(BindContext& context, DimsView dims, const Axes& axes) const {
    auto* state = context.NewState<ResizePasses>();
    auto* passes = context.NewArray<Pass>(static_cast<int64_t>(axes.size()));
    Dims now(dims.begin(), dims.end());
    for (const ResizeAxis& axis : axes) {
      Pass& pass = passes[state->num_passes++];
      pass = TapsOf(context, axis);
      pass.outer = NumElements(now, 0, axis.axis);
      pass.inner = NumElements(now, axis.axis + 1, static_cast<int64_t>(now.size()));
      now[static_cast<size_t>(axis.axis)] = axis.out;
      if (state->num_passes < static_cast<int64_t>(axes.size()))
        state->buffer = std::max(state->buffer, NumElements(now));
    }
    state->passes = passes;
    context.SetScratch(2 * state->buffer * accumulator_size_);
  }

  void BindNearest(BindContext& context, DimsView dims, const Dims& out, const Axes& axes) const {
    auto* copy = context.NewState<MappedCopy>();
    const Dims strides = Strides(dims);
    copy->in_strides = context.Keep<int64_t>(strides).data();
    copy->out_dims = context.Keep<int64_t>(out).data();
    for (const ResizeAxis& axis : axes) copy->rank = std::max(copy->rank, axis.axis + 1);
    copy->rows = copy->rank == 0 ? 1 : NumElements(out, 0, copy->rank - 1);
    copy->block = NumElements(dims, copy->rank, static_cast<int64_t>(dims.size()));
    auto** sources = context.NewArray<const int64_t*>(copy->rank);
    for (const ResizeAxis& axis : axes) sources[axis.axis] = TapsOf(context, axis).positions;
    for (int64_t i = 0; i < copy->rank; ++i) {
      if (sources[i] != nullptr) continue;
      auto* same = context.NewArray<int64_t>(dims[static_cast<size_t>(i)]);
      for (int64_t o = 0; o < dims[static_cast<size_t>(i)]; ++o) same[o] = o;
      sources[i] = same;
    }
    copy->sources = sources;
  }

  ResizeOptions options_;
  RunResize run_;
  int64_t accumulator_size_;
};

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

absl::StatusOr<ResizeOptions> ReadOptions(const NodeSpec& spec) {
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

absl::StatusOr<std::unique_ptr<Kernel>> MakeResize(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(ResizeOptions options, ReadOptions(spec));
  RunResize run = options.rule.mode == ResizeMode::kNearest ? RunNearest : nullptr;
  int64_t accumulator_size = 0;
  if (run == nullptr) run = InterpolationOf(spec.input_dtype(0), &accumulator_size);
  if (run == nullptr) return absl::UnimplementedError("dtype with a mode that interpolates");
  return std::make_unique<Resize>(std::move(options), run, accumulator_size);
}

constexpr KernelEntry kKernels[] = {
    {"", "Resize", "resize_reference", MakeResize},
};

}  // namespace

KernelList ReferenceResize() { return kKernels; }

}  // namespace onward::kernels::cpu
