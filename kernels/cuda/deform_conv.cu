// DeformConv over two axes: a thread reads each tap of a position once for several filters, whose
// sums it adds in the order of channels and taps.
#include <utility>

#include "kernels/bind/deform_conv.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kFilters = 8;  // of a thread

template <typename T>
struct Operands {
  const T *x, *w, *offset, *bias, *mask;  // bias, mask: may be null
  T* y;
};

// Returns what tap `tap` of a channel reads at a position of the output.
template <typename T>
__device__ ComputeType<T> ReadTap(const Operands<T>& o, const DeformConvPlan& p, int64_t image,
                                  int64_t channel, int64_t tap, int64_t position) {
  using C = ComputeType<T>;
  const WindowAxis &rows = p.axes[0], &columns = p.axes[1];
  const int64_t group = Quotient(channel, p.channels / p.offset_group);
  const int64_t line = (image * p.offset_group + group) * p.kernel_size + tap;
  const T* down = o.offset + 2 * line * p.positions + position;
  const int64_t out_row = Quotient(position, columns.output);
  const int64_t out_column = position - out_row * columns.output;
  const int64_t tap_row = Quotient(tap, columns.kernel);
  const int64_t tap_column = tap - tap_row * columns.kernel;
  const int64_t row = out_row * rows.stride - rows.pad_begin + tap_row * rows.dilation;
  const int64_t column =
      out_column * columns.stride - columns.pad_begin + tap_column * columns.dilation;
  const T* plane = o.x + (image * p.channels + channel) * rows.input * columns.input;
  const C value =
      SampleImage(rows.input, columns.input, static_cast<C>(row) + Load(down[0]),
                  static_cast<C>(column) + Load(down[p.positions]),
                  [&](int64_t i, int64_t j) { return Load(plane[i * columns.input + j]); });
  return o.mask == nullptr ? value : value * Load(o.mask[line * p.positions + position]);
}

// Blocks of filters of a group, whose positions are neighbours.
template <typename T>
__global__ void DeformLoop(Operands<T> o, DeformConvPlan p, int64_t count) {
  using C = ComputeType<T>;
  const int64_t filters = p.filters / p.group, blocks = (filters + kFilters - 1) / kFilters;
  const int64_t channels = p.channels / p.group, depth = channels * p.kernel_size;
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t line = Quotient(i, p.positions), position = i - line * p.positions;
    const int64_t batch = Quotient(line, blocks), first = (line - batch * blocks) * kFilters;
    const int64_t image = Quotient(batch, p.group), group = batch - image * p.group;
    const int here = static_cast<int>(filters - first < kFilters ? filters - first : kFilters);
    const int64_t filter = group * filters + first;
    C sums[kFilters] = {};
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t tap = 0; tap < p.kernel_size; ++tap) {
        const C value = ReadTap(o, p, image, group * channels + c, tap, position);
        const T* w = o.w + filter * depth + c * p.kernel_size + tap;
        for (int f = 0; f < kFilters; ++f)
          if (f < here) sums[f] += Load(w[f * depth]) * value;
      }
    }
    for (int f = 0; f < kFilters; ++f) {
      if (f >= here) continue;
      const C bias = o.bias == nullptr ? C(0) : Load(o.bias[filter + f]);
      o.y[(image * p.filters + filter + f) * p.positions + position] = Rounded<T>(sums[f] + bias);
    }
  }
}

using LaunchTaps = absl::Status (*)(const RunContext& context);

template <typename T>
absl::Status LaunchDeform(const RunContext& context) {
  const auto& plan = context.state<DeformConvPlan>();
  const auto optional = [&](int i) { return context.has_input(i) ? context.in<T>(i) : nullptr; };
  const Operands<T> operands = {context.in<T>(0), context.in<T>(1), context.in<T>(2),
                                optional(3),      optional(4),      context.out<T>(0)};
  const int64_t blocks = (plan.filters / plan.group + kFilters - 1) / kFilters;
  const int64_t count = plan.batch * plan.group * blocks * plan.positions;
  return Launch(DeformLoop<T>, Blocks(count), kThreads, 0, StreamOf(context), operands, plan,
                count);
}

class DeformConv : public Kernel {
 public:
  DeformConv(LaunchTaps launch, DeformConvAttributes attributes)
      : launch_(launch), attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    return BindDeformConv(context, attributes_);
  }
  absl::Status Run(RunContext& context) const override {
    return context.output(0).num_elements() == 0 ? absl::OkStatus() : launch_(context);
  }

 private:
  LaunchTaps launch_;
  DeformConvAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDeformConv(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(DeformConvAttributes attributes, DeformConvAttributes::Parse(spec));
  LaunchTaps launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchDeform<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<DeformConv>(launch, std::move(attributes));
}

constexpr KernelEntry kKernels[] = {{"", "DeformConv", "deform_conv_cuda", MakeDeformConv}};

}  // namespace

KernelList DeformConvKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
