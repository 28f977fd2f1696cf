// Conv and onward.FusedConv whose filters read one channel each, over one or two axes with any
// padding: a thread for each output.
#include <optional>

#include "kernels/bind/activation.h"
#include "kernels/bind/conv.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/epilogue.h"
#include "kernels/cuda/image_axes.h"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

struct Windows {
  WindowAxis h, w;
  int64_t filters, per_channel;  // filters that read one channel
  int64_t count;                 // outputs
};

template <typename T>
struct Operands {
  const T *x, *w, *bias;  // bias: may be null
  T* y;
};

// All positions fit 32 bits.
template <typename T>
__global__ void DepthwiseLoop(Operands<T> o, Windows windows) {
  const WindowAxis &h = windows.h, &w = windows.w;
  const auto height = static_cast<int>(h.input), width = static_cast<int>(w.input);
  const auto taps_h = static_cast<int>(h.kernel), taps_w = static_cast<int>(w.kernel);
  for (int64_t i = GlobalIndex(); i < windows.count; i += GlobalSize()) {
    const int64_t line = Quotient(i, w.output), plane = Quotient(line, h.output);
    const auto row = static_cast<int>((line - plane * h.output) * h.stride - h.pad_begin);
    const auto column = static_cast<int>((i - line * w.output) * w.stride - w.pad_begin);
    const int64_t image = Quotient(plane, windows.filters);
    const int64_t filter = plane - image * windows.filters;
    const int64_t channels = Quotient(windows.filters, windows.per_channel);
    const int64_t channel = image * channels + Quotient(filter, windows.per_channel);
    const T* x = o.x + channel * height * width;
    const T* taps = o.w + filter * taps_h * taps_w;
    ComputeType<T> sum = o.bias == nullptr ? 0 : Load(o.bias[filter]);
    for (int r = 0; r < taps_h; ++r) {
      const int at_h = row + r * static_cast<int>(h.dilation);
      if (at_h < 0 || at_h >= height) continue;
      for (int c = 0; c < taps_w; ++c) {
        const int at_w = column + c * static_cast<int>(w.dilation);
        if (at_w < 0 || at_w >= width) continue;
        sum += Load(x[at_h * width + at_w]) * Load(taps[r * taps_w + c]);
      }
    }
    o.y[i] = Rounded<T>(sum);
  }
}

using LaunchWindows = absl::Status (*)(const RunContext& context, const Windows& windows);

template <typename T>
absl::Status LaunchDepthwise(const RunContext& context, const Windows& windows) {
  const Operands<T> operands = {context.in<T>(0), context.in<T>(1),
                                context.has_input(2) ? context.in<T>(2) : nullptr,
                                context.out<T>(0)};
  return Launch(DepthwiseLoop<T>, Blocks(windows.count), kThreads, 0, StreamOf(context), operands,
                windows);
}

class DepthwiseConv : public Kernel {
 public:
  DepthwiseConv(LaunchWindows launch, ConvAttributes attributes, const ActivationSpec& activation,
                DType dtype)
      : launch_(launch), attributes_(std::move(attributes)), dtype_(dtype) {
    epilogue_.activation = activation;
  }

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, ConvDims(attributes_, context));
    ONWARD_RETURN_IF_ERROR(CheckResidual(context, g.output));
    context.SetOutput(0, g.output);
    auto* windows = context.NewState<Windows>();
    *windows = {RowsOf(g.axes), g.axes.back(), g.filters, g.filters / g.channels,
                NumElements(g.output)};
    for (const WindowAxis* axis : {&windows->h, &windows->w}) {
      constexpr int64_t kMost = int64_t{1} << 30;
      if (axis->input + axis->pad_begin + axis->pad_end > kMost || axis->extent() > kMost ||
          windows->h.input * windows->w.input > kMost || axis->stride > kMost)
        return absl::UnimplementedError("the device takes images of less than 2^30 elements");
    }
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& output = context.output(0);
    if (output.num_elements() == 0) return absl::OkStatus();
    ONWARD_RETURN_IF_ERROR(launch_(context, context.state<Windows>()));
    Epilogue epilogue = epilogue_;
    if (context.has_input(3)) epilogue.residual = context.input(3).data;
    return RunEpilogue(epilogue, dtype_, output.data, output.num_elements(), StreamOf(context));
  }

 private:
  LaunchWindows launch_;
  ConvAttributes attributes_;
  DType dtype_;
  Epilogue epilogue_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDepthwiseConv(const NodeSpec& spec) {
  const std::optional<Dims> w = spec.input_type(1).static_dims();
  if (!w || (w->size() != 3 && w->size() != 4) || (*w)[1] != 1 || NumElements(*w) == 0)
    return absl::UnimplementedError("only 1-D and 2-D filters of one channel");
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  if (attributes.group < 2) return absl::UnimplementedError("only several groups");
  ONWARD_ASSIGN_OR_RETURN(const ActivationSpec activation, ParseActivation(spec));
  LaunchWindows launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchDepthwise<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<DepthwiseConv>(launch, std::move(attributes), activation,
                                         spec.input_dtype(0));
}

constexpr KernelEntry kKernels[] = {
    {"onward", "FusedConv", "fused_depthwise_conv_cuda", MakeDepthwiseConv},
    {"", "Conv", "depthwise_conv_cuda", MakeDepthwiseConv},
};

}  // namespace

KernelList DepthwiseConvKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
