// Conv, onward.FusedConv and ConvTranspose of pairs of bfloat16. A transposed convolution is one
// product for each remainder of the output's rows and columns modulo the strides: the taps that
// reach such pixels, over X with padding.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/conv_bf16.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

// Fewer filters in a group do not pay for rounding and packing their patches.
constexpr int64_t kMinFilters = 8;

struct PairsConvState {
  PairsImages images;
  absl::Span<PairsConvPlan> products;
  bool covers_y = true;
  int64_t planes_floats = 0;
};

absl::Status SetScratch(BindContext& context, PairsConvState& s) {
  int64_t most = 0;
  for (const PairsConvPlan& plan : s.products)
    most = std::max(most, plan.floats(context.num_workers()));
  s.planes_floats = CeilDiv(s.images.floats(), kPatchSlack) * kPatchSlack;
  const Dims planes = {s.images.planes() + 1, std::max<int64_t>(1, s.images.plane())};
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(DType::kFloat32, planes).status());
  context.SetScratch((s.planes_floats + most) * static_cast<int64_t>(sizeof(float)));
  return absl::OkStatus();
}

PairsConvData DataOf(const RunContext& context) {
  PairsConvData data;
  data.x = context.in<float>(0), data.w = context.in<float>(1);
  if (context.has_input(2)) data.bias = context.in<float>(2);
  if (context.has_input(3)) data.residual = context.in<float>(3);
  data.y = context.out<float>(0);
  return data;
}

absl::Status RunProducts(const PairsConvState& s, PairsConvData data, RunContext& context) {
  data.planes = context.scratch<float>();
  data.scratch = data.planes + s.planes_floats;
  MakePlanes(s.images, data, context);
  for (const PairsConvPlan& plan : s.products) RunPairsConv(s.images, plan, data, context);
  return absl::OkStatus();
}

bool IsPoint(const WindowAxes& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.input == axis.output;
  });
}

// Planes of X as one row, where no tap reads beside its pixel.
void SetPoints(int64_t pixels, PairsImages& images, PairsConvPlan& plan) {
  images.points = true;
  images.window.in_w = images.window.out_w = pixels;
  plan.rows = 1;
  plan.columns = plan.target.row_floats = pixels;
}

class PairsConvolution : public Kernel {
 public:
  PairsConvolution(Target target, ConvAttributes attributes, ActivationSpec activation,
                   Tensor filters, bool direct)
      : target_(target),
        filters_(std::move(filters)),
        direct_(direct),
        attributes_(std::move(attributes)),
        activation_(activation) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, BindConv(attributes_, context));
    auto* s = context.NewState<PairsConvState>();
    if (NumElements(g.output) == 0) return absl::OkStatus();
    s->images = {WindowOf(g.axes), g.batch, g.group, g.channels / g.group,
                 g.input_size(),   false,   target_};
    PairsConvPlan* plan = context.NewArray<PairsConvPlan>(1);
    s->products = {plan, 1};
    plan->m = g.filters / g.group;
    plan->taps = g.kernel_size();
    plan->rows = s->images.window.out_h, plan->columns = s->images.window.out_w;
    plan->filters = PairsFiltersOf(plan->m, s->images.channels, plan->taps);
    plan->packs_filters = filters_.empty();
    plan->target = {0, plan->columns, 1, g.output_size()};
    if (IsPoint(g.axes)) SetPoints(g.output_size(), s->images, *plan);
    KeepTaps(context, s->images.window, *plan);
    plan->direct = direct_;
    CutPairsConv(kBf16TilesPerTarget.For(target_)(), s->images, *plan);
    return SetScratch(context, *s);
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<PairsConvState>();
    PairsConvData data = DataOf(context);
    data.activation = activation_;
    if (!filters_.empty()) data.filters = filters_.data<float>();
    return RunProducts(s, data, context);
  }

 private:
  static void KeepTaps(BindContext& context, const PatchWindow& w, PairsConvPlan& plan) {
    int32_t* index = context.NewArray<int32_t>(plan.taps);
    std::iota(index, index + plan.taps, 0);
    plan.tap_offsets = KeepTapOffsets(context, w);
    plan.tap_index = index;
  }

  Target target_;
  Tensor filters_;  // packed, where they are constant
  bool direct_;
  ConvAttributes attributes_;
  ActivationSpec activation_;
};

// Of one axis: tap k reaches output o * stride + phase from input o + shift, for the taps whose
// distance is a multiple of the stride.
struct Reach {
  bool any;
  int64_t shift;
};
Reach ReachOf(const WindowAxis& axis, int64_t phase, int64_t tap) {
  const int64_t distance = phase + axis.pad_begin - tap * axis.dilation;
  return {distance % axis.stride == 0, distance / axis.stride};
}
int64_t OutputsOfPhase(const WindowAxis& axis, int64_t phase) {
  return axis.input > phase ? CeilDiv(axis.input - phase, axis.stride) : 0;
}

// The padding before X and the size with all padding, so that every reach lies inside.
struct PaddedAxis {
  int64_t before = 0, size = 1;
};
PaddedAxis PadAxis(const WindowAxis& axis) {
  int64_t low = 0, high = 0;
  for (int64_t phase = 0; phase < axis.stride; ++phase) {
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      const Reach reach = ReachOf(axis, phase, tap);
      if (!reach.any || OutputsOfPhase(axis, phase) == 0) continue;
      low = std::min(low, reach.shift);
      high = std::max(high, OutputsOfPhase(axis, phase) - 1 + reach.shift);
    }
  }
  return {-low, high - low + 1};
}

class PairsConvTranspose : public Kernel {
 public:
  PairsConvTranspose(Target target, ConvTransposeAttributes attributes)
      : target_(target), attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvTransposeDims(attributes_, context));
    if (g.axes.size() > 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("X ", DimsString(context.input_dims(0)), " has more axes than declared"));
    }
    context.SetOutput(0, g.output);
    auto* s = context.NewState<PairsConvState>();
    if (NumElements(g.output) == 0) return absl::OkStatus();
    if (g.channels == 0 || g.output_size() == 0) {
      s->covers_y = false;
      return absl::OkStatus();
    }
    const WindowAxis rows = g.axes.size() == 2 ? g.axes[0] : WindowAxis{1, 1};
    const WindowAxis columns = g.axes.back();
    const PaddedAxis padded_rows = PadAxis(rows), padded_columns = PadAxis(columns);
    PatchWindow window;
    window.in_h = rows.output, window.in_w = columns.output;
    window.out_h = padded_rows.size, window.out_w = padded_columns.size;
    window.pad_top = padded_rows.before, window.pad_left = padded_columns.before;
    s->images = {window, g.batch, g.group, g.channels / g.group, g.output_size(), false, target_};
    auto* plans = context.NewArray<PairsConvPlan>(rows.stride * columns.stride);
    size_t count = 0;
    for (int64_t row = 0; row < rows.stride; ++row) {
      for (int64_t column = 0; column < columns.stride; ++column) {
        if (OutputsOfPhase(rows, row) == 0 || OutputsOfPhase(columns, column) == 0) continue;
        PairsConvPlan& plan = plans[count];
        KeepTaps(context, rows, columns, row, column, window, plan);
        if (plan.taps == 0) {
          s->covers_y = false;
          continue;
        }
        ++count;
        plan.m = g.filters / g.group;
        plan.rows = OutputsOfPhase(rows, row), plan.columns = OutputsOfPhase(columns, column);
        const int64_t taps = g.kernel_size();
        plan.filters = {s->images.channels * plan.m * taps, taps, plan.m * taps, taps};
        plan.target = {row * columns.input + column, rows.stride * columns.input, columns.stride,
                       g.input_size()};
        if (IsPoint(g.axes)) SetPoints(g.input_size(), s->images, plan);
        CutPairsConv(kBf16TilesPerTarget.For(target_)(), s->images, plan);
      }
    }
    s->products = {plans, count};
    return SetScratch(context, *s);
  }

  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<PairsConvState>();
    const PairsConvData data = DataOf(context);
    if (!s.covers_y) FillBias(context, data);
    return RunProducts(s, data, context);
  }

 private:
  // The taps that reach the pixels of one phase, and where they read X.
  static void KeepTaps(BindContext& context, const WindowAxis& rows, const WindowAxis& columns,
                       int64_t row, int64_t column, const PatchWindow& window,
                       PairsConvPlan& plan) {
    int64_t* offsets = context.NewArray<int64_t>(rows.kernel * columns.kernel);
    int32_t* index = context.NewArray<int32_t>(rows.kernel * columns.kernel);
    plan.tap_offsets = offsets;
    plan.tap_index = index;
    for (int64_t k = 0; k < rows.kernel; ++k) {
      for (int64_t l = 0; l < columns.kernel; ++l) {
        const Reach y = ReachOf(rows, row, k), x = ReachOf(columns, column, l);
        if (!y.any || !x.any) continue;
        offsets[plan.taps] =
            (y.shift + window.pad_top) * PlaneWidth(window) + x.shift + window.pad_left;
        index[plan.taps++] = static_cast<int32_t>(k * columns.kernel + l);
      }
    }
  }

  static void FillBias(const RunContext& context, const PairsConvData& data) {
    const DimsView y = context.output(0).dims;
    const int64_t size = NumElements(y.subspan(2));
    context.ParallelFor(y[0] * y[1], CeilDiv(32 * 1024, size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::fill_n(data.y + i * size, size, data.bias == nullptr ? 0.0f : data.bias[i % y[1]]);
    });
  }

  Target target_;
  ConvTransposeAttributes attributes_;
};

// Two spatial axes at most; `axis` of the weights counts the filters of a group or of all.
absl::Status CheckShapes(const NodeSpec& spec, size_t axis, int64_t least) {
  ONWARD_RETURN_IF_ERROR(CheckPairsAreFaster(spec));
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  const auto &x = spec.input_type(0).shape, &w = spec.input_type(1).shape;
  const auto& shape = x ? x : w;
  if (!shape || shape->size() > 4)
    return absl::UnimplementedError("one or two spatial axes only, known when compiling");
  if (w && w->size() > axis && (*w)[axis].known() && (*w)[axis].value() < least)
    return absl::UnimplementedError("few filters in a group");
  return absl::OkStatus();
}

bool ReadsDirectly(const NodeSpec& spec, const ConvAttributes& attributes) {
  const std::optional<ConvGeometry> g = KnownGeometry(spec, attributes);
  return g && ReadsPlanesDirectly(kBf16TilesPerTarget.For(TargetOf(spec))(), *g);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConv(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const ConvAttributes attributes, ConvAttributes::Parse(spec));
  ONWARD_RETURN_IF_ERROR(CheckShapes(spec, 0, kMinFilters * attributes.group));
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  if (spec.only_asks()) return nullptr;
  Tensor filters;
  bool direct = false;
  const Tensor* w = spec.constant(1);
  if (w != nullptr && w->rank() > 2 && w->num_elements() > 0 &&
      w->dims()[0] % attributes.group == 0) {
    direct = ReadsDirectly(spec, attributes);
    ONWARD_ASSIGN_OR_RETURN(filters,
                            PackPairsFilters(TargetOf(spec), *w, attributes.group, direct));
    spec.ReleaseConstant(1);
  }
  return std::make_unique<PairsConvolution>(TargetOf(spec), attributes, activation,
                                            std::move(filters), direct);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvTranspose(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckShapes(spec, 1, kMinFilters));
  ONWARD_ASSIGN_OR_RETURN(ConvTransposeAttributes attributes, ConvTransposeAttributes::Parse(spec));
  return std::make_unique<PairsConvTranspose>(TargetOf(spec), std::move(attributes));
}

constexpr KernelEntry kKernels[] = {
    {"", "Conv", "conv_bf16", MakeConv, kBf16Targets},
    {"onward", "FusedConv", "fused_conv_bf16", MakeConv, kBf16Targets},
    {"", "ConvTranspose", "conv_transpose_bf16", MakeConvTranspose, kBf16Targets},
};

}  // namespace

KernelList ConvBf16Kernels() { return kKernels; }

}  // namespace onward::kernels::cpu
