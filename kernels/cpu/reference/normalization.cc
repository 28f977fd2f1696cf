// LayerNormalization, RMSNormalization, InstanceNormalization and GroupNormalization: statistics of
// contiguous runs of the input, in float (double for float64).
#include "kernels/bind/group_normalization.h"
#include "kernels/bind/layer_normalization.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/moments.h"

namespace onward::kernels::cpu {
namespace {

// The type that statistics and the normalised value have before they are rounded to T: float, or
// double for doubles.
template <typename T>
using Wide = ComputeType<T>;

using LayerLoop = void (*)(const LayerPlan& plan, float epsilon, bool centered, bool round_early,
                           const TensorView* views, int64_t begin, int64_t end);

// Position of the operands in the views given to a LayerLoop.
enum : int { kX, kScale, kBias, kY, kMean, kDeviation, kNumViews };

template <typename U>
void StoreStatistic(const TensorView& view, int64_t index, U value) {
  if (view.data == nullptr) return;
  DispatchDType(FloatTypes(), view.dtype, [&](auto tag) {
    using S = typename decltype(tag)::type;
    view.as<S>()[index] = static_cast<S>(static_cast<ComputeType<S>>(value));
  });
}

template <typename T, typename V>
void RunLayer(const LayerPlan& plan, float epsilon, bool centered, bool round_early,
              const TensorView* views, int64_t begin, int64_t end) {
  using C = Wide<T>;
  const int64_t n = plan.columns;
  const V* scale = views[kScale].as<const V>();
  const V* bias = views[kBias].as<const V>();
  for (int64_t row = begin; row < end; ++row) {
    const T* x = views[kX].as<const T>() + row * n;
    V* y = views[kY].as<V>() + row * n;
    const Moments<C> moments = centered ? ComputeMoments<T>(x, n) : ComputeSquare<T>(x, n);
    const C mean = centered ? moments.mean : C(0);
    const C inverse = C(1) / std::sqrt(moments.variance + static_cast<C>(epsilon));
    StoreStatistic(views[kMean], row, mean);
    StoreStatistic(views[kDeviation], row, inverse);
    for (int64_t i = 0; i < n; ++i) {
      C value = (static_cast<C>(x[i]) - mean) * inverse;
      if (round_early) value = static_cast<C>(static_cast<T>(value));
      if (plan.simple) {
        value *= static_cast<C>(scale[i]);
        if (bias != nullptr) value += static_cast<C>(bias[i]);
      }
      y[i] = static_cast<V>(static_cast<ComputeType<V>>(value));
    }
  }
}

// Multiplies by scale and adds bias where they do not cover each row alike.
template <typename V>
void ApplyAffine(const BroadcastTile<2>& tile, const V* scale, const V* bias, V* y) {
  using C = Wide<V>;
  V* out = y + tile.out_offset;
  for (int64_t row = 0; row < tile.rows; ++row) {
    for (int64_t i = 0; i < tile.columns; ++i, ++out) {
      C value = static_cast<C>(*out) *
                static_cast<C>(
                    scale[tile.offset[0] + row * tile.row_stride[0] + i * tile.column_stride[0]]);
      if (bias != nullptr) {
        value += static_cast<C>(
            bias[tile.offset[1] + row * tile.row_stride[1] + i * tile.column_stride[1]]);
      }
      *out = static_cast<V>(value);
    }
  }
}

class LayerNormalization : public Kernel {
 public:
  LayerNormalization(LayerLoop loop, DType out, int64_t axis, float epsilon, bool centered,
                     bool round_early)
      : loop_(loop),
        out_(out),
        axis_(axis),
        epsilon_(epsilon),
        centered_(centered),
        round_early_(round_early) {}

  absl::Status Bind(BindContext& context) const override {
    return BindLayerNormalization(context, axis_);
  }

  absl::Status Run(RunContext& context) const override {
    const LayerPlan& plan = context.state<LayerPlan>();
    TensorView views[kNumViews];
    views[kX] = context.input(0);
    views[kScale] = context.input(1);
    if (context.has_input(2)) views[kBias] = context.input(2);
    views[kY] = context.output(0);
    if (context.has_output(1)) views[kMean] = context.output(1);
    if (context.has_output(2)) views[kDeviation] = context.output(2);
    const int64_t grain = std::max<int64_t>(1, kCheapGrain / std::max<int64_t>(1, plan.columns));
    context.ParallelFor(plan.rows, grain, [&](int64_t begin, int64_t end) {
      loop_(plan, epsilon_, centered_, round_early_, views, begin, end);
    });
    if (plan.simple) return absl::OkStatus();
    DispatchDType(FloatTypes(), out_, [&](auto tag) {
      using V = typename decltype(tag)::type;
      ParallelTiles<2>(context, plan.affine, kCheapGrain, [&](const BroadcastTile<2>& tile) {
        ApplyAffine(tile, views[kScale].as<const V>(), views[kBias].as<const V>(),
                    views[kY].as<V>());
      });
    });
    return absl::OkStatus();
  }

 private:
  LayerLoop loop_;
  DType out_;
  int64_t axis_;
  float epsilon_;
  bool centered_, round_early_;
};

template <bool centered>
absl::StatusOr<std::unique_ptr<Kernel>> MakeLayerNormalization(const NodeSpec& spec) {
  LayerLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto in) {
    using T = typename decltype(in)::type;
    DispatchDType(FloatTypes(), spec.input_dtype(1), [&](auto out) {
      using V = typename decltype(out)::type;
      if constexpr (!centered || std::is_same_v<T, V>) loop = RunLayer<T, V>;
    });
  });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  // The standard casts the normalised value back to the input's type before it scales it.
  const bool round_early = spec.input_dtype(0) != spec.input_dtype(1);
  return std::make_unique<LayerNormalization>(
      loop, spec.input_dtype(1), spec.attributes().Int("axis", -1),
      spec.attributes().Float("epsilon", 1e-5f), centered, round_early);
}

using GroupLoop = void (*)(const GroupSizes& sizes, float epsilon, const void* in,
                           const void* scale, const void* bias, void* out, int64_t begin,
                           int64_t end);

template <typename T>
void RunGroups(const GroupSizes& sizes, float epsilon, const void* in, const void* scale_data,
               const void* bias_data, void* out, int64_t begin, int64_t end) {
  using C = Wide<T>;
  const int64_t per_group = sizes.channels_per_group, run = sizes.run();
  for (int64_t group = begin; group < end; ++group) {
    const T* x = static_cast<const T*>(in) + group * run;
    T* y = static_cast<T*>(out) + group * run;
    const Moments<C> moments = ComputeMoments<T>(x, run);
    const C inverse = C(1) / std::sqrt(moments.variance + static_cast<C>(epsilon));
    const int64_t first = group % sizes.groups * per_group;
    for (int64_t c = 0; c < per_group; ++c) {
      const C scale = static_cast<C>(static_cast<const T*>(scale_data)[first + c]);
      const C bias = static_cast<C>(static_cast<const T*>(bias_data)[first + c]);
      for (int64_t i = c * sizes.spatial; i < (c + 1) * sizes.spatial; ++i) {
        y[i] = static_cast<T>((static_cast<C>(x[i]) - moments.mean) * inverse * scale + bias);
      }
    }
  }
}

class GroupNormalization : public Kernel {
 public:
  GroupNormalization(GroupLoop loop, GroupAttributes attributes, SeveralValues several)
      : loop_(loop), attributes_(attributes), several_(several) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const GroupSizes sizes,
                            BindGroupNormalization(context, attributes_, several_));
    *context.NewState<GroupSizes>() = sizes;
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const GroupSizes& sizes = context.state<GroupSizes>();
    if (sizes.run() == 0) return absl::OkStatus();
    context.ParallelFor(sizes.runs, std::max<int64_t>(1, kCheapGrain / sizes.run()),
                        [&](int64_t begin, int64_t end) {
                          loop_(sizes, attributes_.epsilon, context.input(0).data,
                                context.input(1).data, context.input(2).data,
                                context.output(0).data, begin, end);
                        });
    return absl::OkStatus();
  }

 private:
  GroupLoop loop_;
  GroupAttributes attributes_;
  SeveralValues several_;
};

template <bool per_channel>
absl::StatusOr<std::unique_ptr<Kernel>> MakeGroupNormalization(const NodeSpec& spec) {
  GroupLoop loop = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunGroups<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  ONWARD_ASSIGN_OR_RETURN(const GroupAttributes attributes, ParseGroups(spec, per_channel));
  return std::make_unique<GroupNormalization>(loop, attributes, SeveralValues(spec));
}

constexpr KernelEntry kKernels[] = {
    {"", "GroupNormalization", "group_normalization_reference", MakeGroupNormalization<false>},
    {"", "InstanceNormalization", "instance_normalization_reference", MakeGroupNormalization<true>},
    {"", "LayerNormalization", "layer_normalization_reference", MakeLayerNormalization<true>},
    {"", "RMSNormalization", "rms_normalization_reference", MakeLayerNormalization<false>},
};

}  // namespace

KernelList ReferenceNormalization() { return kKernels; }

}  // namespace onward::kernels::cpu
