// ConvInteger and QLinearConv of bytes over one to three axes: filters times the columns of the
// image that they read, which are made as they are read.
#include <utility>

#include "kernels/bind/quantized_conv.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/byte_tiles.cuh"
#include "kernels/cuda/image_axes.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kAxes = 3;  // missing outer ones have one element

struct ByteConv {
  WindowAxis axes[kAxes];
  int64_t filters, channels, group;  // filters, channels: of a group
  int64_t kernel_size, image_size, positions;
};

template <typename X, typename W>
struct ByteOperands {
  const X* x;
  const W* w;
  PerLine<X> x_zero;
  PerLine<W> w_zeros;
};

// The place in a channel that tap `tap` of a position reads; -1 in the padding.
__device__ int64_t PlaceOf(const ByteConv& conv, int64_t tap, int64_t position) {
  int64_t place = 0, scale = 1;
  for (int a = kAxes - 1; a >= 0; --a) {
    const WindowAxis& axis = conv.axes[a];
    const int64_t tap_above = Quotient(tap, axis.kernel);
    const int64_t above = Quotient(position, axis.output);
    const int64_t at = (position - above * axis.output) * axis.stride - axis.pad_begin +
                       (tap - tap_above * axis.kernel) * axis.dilation;
    if (at < 0 || at >= axis.input) return -1;
    place += at * scale;
    scale *= axis.input;
    tap = tap_above;
    position = above;
  }
  return place;
}

struct StoreSum {
  int32_t* y;

  __device__ void operator()(int64_t, int64_t at, uint32_t sum) const {
    y[at] = static_cast<int32_t>(sum);
  }
};

struct StoreCode {
  const float* x_scale;
  PerLine<float> w_scales;
  const int32_t* bias;  // may be null
  CodeOutput<float> output;

  __device__ void operator()(int64_t filter, int64_t at, uint32_t sum) const {
    const uint32_t offset = bias == nullptr ? 0 : static_cast<uint32_t>(bias[filter]);
    output.Store(at, sum + offset, *x_scale * w_scales.At(filter));
  }
};

// The blocks of group z of all images.
template <typename X, typename W, typename Store>
__global__ void ConvolveBytes(ByteOperands<X, W> o, Store store, ByteConv conv) {
  const int64_t first = blockIdx.z % conv.group * conv.filters;
  const int64_t depth = conv.channels * conv.kernel_size;
  const X* image = o.x + blockIdx.z * conv.channels * conv.image_size;
  const int zero = o.x_zero.At(0);
  MultiplyTile(
      conv.filters, conv.positions, depth,
      [&](int64_t row, int64_t p) {
        return o.w[(first + row) * depth + p] - o.w_zeros.At(first + row);
      },
      [&](int64_t p, int64_t position) {
        const int64_t channel = Quotient(p, conv.kernel_size);
        const int64_t place = PlaceOf(conv, p - channel * conv.kernel_size, position);
        return place < 0 ? 0 : image[channel * conv.image_size + place] - zero;
      },
      [&](int64_t row, int64_t position, uint32_t sum) {
        store(first + row, (blockIdx.z * conv.filters + row) * conv.positions + position, sum);
      });
}

using LaunchConv = absl::Status (*)(const RunContext& context, const ByteConv& conv, dim3 blocks);

template <typename X, typename W>
ByteOperands<X, W> OperandsOf(const RunContext& context, const QuantizedConvInputs& inputs) {
  return {context.in<X>(0), context.in<W>(inputs.w), PerLineOf<X>(context, inputs.x_zero),
          PerLineOf<W>(context, inputs.w_zero)};
}

template <typename X, typename W>
absl::Status LaunchSums(const RunContext& context, const ByteConv& conv, dim3 blocks) {
  return Launch(ConvolveBytes<X, W, StoreSum>, blocks, dim3(kSide, kSide), 0, StreamOf(context),
                OperandsOf<X, W>(context, kConvIntegerInputs), StoreSum{context.out<int32_t>(0)},
                conv);
}

template <typename X, typename W>
absl::Status LaunchCodes(const RunContext& context, const ByteConv& conv, dim3 blocks) {
  const int bias = kQLinearConvInputs.bias;
  const StoreCode store = {context.in<float>(1),
                           PerLineOf<float>(context, 4),
                           context.has_input(bias) ? context.in<int32_t>(bias) : nullptr,
                           {context.in<float>(6), context.input(7).data, context.output(0).data,
                            context.output(0).dtype == DType::kInt8}};
  return Launch(ConvolveBytes<X, W, StoreCode>, blocks, dim3(kSide, kSide), 0, StreamOf(context),
                OperandsOf<X, W>(context, kQLinearConvInputs), store, conv);
}

class QuantizedConv : public Kernel {
 public:
  using BindConv = absl::Status (*)(BindContext& context, const ConvAttributes& attributes);

  QuantizedConv(BindConv bind, LaunchConv launch, ConvAttributes attributes)
      : bind_(bind), launch_(launch), attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(bind_(context, attributes_));
    const auto& sizes = *static_cast<const QuantizedConvSizes*>(context.state());
    if (sizes.axes.size() <= kAxes && sizes.batch * sizes.group <= kMostBlocks &&
        sizes.filters / sizes.group <= kMostBlocks * kTile)
      return absl::OkStatus();
    return absl::UnimplementedError(
        "more axes, images or filters than the device's convolution of bytes takes; use "
        "--provider cpu");
  }
  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const auto& sizes = context.state<QuantizedConvSizes>();
    ByteConv conv;
    FillAxes(sizes.axes, conv.axes);
    conv.group = sizes.group;
    conv.filters = sizes.filters / sizes.group;
    conv.channels = sizes.channels / sizes.group;
    conv.kernel_size = sizes.kernel_size;
    conv.image_size = sizes.image_size;
    conv.positions = sizes.positions;
    return launch_(context, conv,
                   dim3(Tiles(conv.positions), Tiles(conv.filters),
                        static_cast<unsigned>(sizes.batch * sizes.group)));
  }

 private:
  BindConv bind_;
  LaunchConv launch_;
  ConvAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvInteger(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  LaunchConv launch = nullptr;
  ONWARD_RETURN_IF_ERROR(DispatchBytes(
      spec.input_dtype(0), spec.input_dtype(kConvIntegerInputs.w), [&](auto x, auto w) {
        launch = LaunchSums<typename decltype(x)::type, typename decltype(w)::type>;
      }));
  return std::make_unique<QuantizedConv>(BindConvInteger, launch, std::move(attributes));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeQLinearConv(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(ConvAttributes attributes, ConvAttributes::Parse(spec));
  const DType y = spec.input_dtype(7);
  if (!IsByte(y)) return NoLoopFor(y);
  LaunchConv launch = nullptr;
  ONWARD_RETURN_IF_ERROR(DispatchBytes(
      spec.input_dtype(0), spec.input_dtype(kQLinearConvInputs.w), [&](auto x, auto w) {
        launch = LaunchCodes<typename decltype(x)::type, typename decltype(w)::type>;
      }));
  return std::make_unique<QuantizedConv>(BindQLinearConv, launch, std::move(attributes));
}

constexpr KernelEntry kKernels[] = {
    {"", "ConvInteger", "conv_integer_cuda", MakeConvInteger},
    {"", "QLinearConv", "qlinear_conv_cuda", MakeQLinearConv},
};

}  // namespace

KernelList QuantizedConvKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
