// 2-D pooling of floats through cuDNN, NCHW.
#include "kernels/bind/pool.h"

#include "kernels/cuda/cudnn_descriptors.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/stream.h"

namespace onward::kernels::cuda {
namespace {

struct State {
  int64_t planes = 0;
  WindowAxis axes[2];
};

class Pool : public Kernel {
 public:
  Pool(PoolAttributes attributes, DType dtype, cudnnPoolingMode_t mode, bool global)
      : attributes_(std::move(attributes)), dtype_(dtype), mode_(mode), global_(global) {}

  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0);
    State* state = context.NewState<State>();
    if (global_) {
      ONWARD_ASSIGN_OR_RETURN(const Dims y, GlobalPoolDims(x));
      if (x.size() != 4) return absl::InvalidArgumentError("the device pools images only");
      state->planes = x[0] * x[1];
      for (int i = 0; i < 2; ++i)
        state->axes[i] = {
            x[static_cast<size_t>(2 + i)], 1, x[static_cast<size_t>(2 + i)], 1, 1, 0, 0};
      context.SetOutput(0, y);
      return CheckShapes(*state, y);
    }
    ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g, PoolDims(attributes_, x));
    state->planes = g.planes;
    state->axes[0] = g.axes[0];
    state->axes[1] = g.axes[1];
    context.SetOutput(0, g.output);
    return CheckShapes(*state, g.output);
  }

  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    const State& state = context.state<State>();
    const WindowAxis &h = state.axes[0], &w = state.axes[1];
    TensorDescriptor x, y;
    PoolDescriptor pool;
    ONWARD_RETURN_IF_ERROR(SetNchw(x, dtype_, 1, state.planes, h.input, w.input));
    ONWARD_RETURN_IF_ERROR(SetNchw(y, dtype_, 1, state.planes, h.output, w.output));
    ONWARD_RETURN_IF_ERROR(pool.Init());
    ONWARD_RETURN_IF_ERROR(LibraryStatus(cudnnSetPooling2dDescriptor(
        pool.get(), mode_, CUDNN_PROPAGATE_NAN, static_cast<int>(h.kernel),
        static_cast<int>(w.kernel), static_cast<int>(h.pad_begin), static_cast<int>(w.pad_begin),
        static_cast<int>(h.stride), static_cast<int>(w.stride))));
    cudnnHandle_t handle;
    ONWARD_RETURN_IF_ERROR(GetCudnn(StreamOf(context), &handle));
    return LibraryStatus(cudnnPoolingForward(handle, pool.get(), CudnnOne(dtype_), x.get(),
                                             context.input(0).data, CudnnZero(dtype_), y.get(),
                                             context.output(0).data));
  }

 private:
  absl::Status CheckShapes(const State& state, DimsView output) const {
    if (NumElements(output) == 0) return absl::OkStatus();
    TensorDescriptor x, y;
    for (const WindowAxis& axis : state.axes) ONWARD_RETURN_IF_ERROR(CheckWindow(axis));
    ONWARD_RETURN_IF_ERROR(
        SetNchw(x, dtype_, 1, state.planes, state.axes[0].input, state.axes[1].input));
    return SetNchw(y, dtype_, 1, state.planes, state.axes[0].output, state.axes[1].output);
  }

  PoolAttributes attributes_;
  DType dtype_;
  cudnnPoolingMode_t mode_;
  bool global_;
};

absl::Status CheckImages(const NodeSpec& spec) {
  if (!IsFloating(spec.input_dtype(0))) return absl::UnimplementedError("only floats");
  if (!spec.input_type(0).shape || spec.input_type(0).shape->size() != 4)
    return absl::UnimplementedError("only images");
  if (spec.has_output(1)) return absl::UnimplementedError("no indices");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckImages(spec));
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  const WindowAttributes& window = attributes.window;
  const bool symmetric = window.pads.size() != 4 ||
                         (window.pads[0] == window.pads[2] && window.pads[1] == window.pads[3]);
  for (size_t i = 0; i < window.pads.size() && i < 2; ++i)
    if (i < window.kernel.size() && window.pads[i] >= window.kernel[i])
      return absl::UnimplementedError("pads as wide as the window");
  const bool dilated = NumElements(window.dilations) != 1;
  const bool same =
      window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
  if (!symmetric || dilated || window.ceil_mode || same) {
    return absl::UnimplementedError("asymmetric or SAME padding, dilation or ceil_mode");
  }
  const bool max = spec.node().op_type == "MaxPool";
  const cudnnPoolingMode_t mode = max ? CUDNN_POOLING_MAX_DETERMINISTIC
                                  : attributes.count_include_pad
                                      ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                                      : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
  return std::make_unique<Pool>(std::move(attributes), spec.input_dtype(0), mode, false);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGlobalPool(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckImages(spec));
  const bool max = spec.node().op_type == "GlobalMaxPool";
  return std::make_unique<Pool>(
      PoolAttributes(), spec.input_dtype(0),
      max ? CUDNN_POOLING_MAX_DETERMINISTIC : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING, true);
}

constexpr KernelEntry kKernels[] = {
    {"", "AveragePool", "average_pool_cudnn", MakePool},
    {"", "GlobalAveragePool", "global_average_pool_cudnn", MakeGlobalPool},
    {"", "GlobalMaxPool", "global_max_pool_cudnn", MakeGlobalPool},
    {"", "MaxPool", "max_pool_cudnn", MakePool},
};

}  // namespace

KernelList PoolKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
