// The windows of pools over one to three axes.
#pragma once

#include <utility>

#include "kernels/bind/pool.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/image_axes.h"

namespace onward::kernels::cuda {

inline constexpr int kPoolAxes = 3;

struct PoolWindows {
  int64_t count = 0;                // outputs
  WindowAxis axes[kPoolAxes] = {};  // missing outer ones have one element
};

inline absl::Status CheckPoolAxes(const NodeSpec& spec) {
  const auto& shape = spec.input_type(0).shape;
  if (!shape || shape->size() < 3 || shape->size() > 2 + kPoolAxes)
    return absl::UnimplementedError("only one to three spatial axes");
  return absl::OkStatus();
}

// The windows of a pool over at most kPoolAxes axes.
inline PoolWindows WindowsOf(const PoolGeometry& g) {
  PoolWindows windows;
  windows.count = g.planes * g.output_size();
  FillAxes(g.axes, windows.axes);
  return windows;
}

// Settles all outputs.
inline absl::StatusOr<PoolWindows> BindPool(BindContext& context,
                                            const PoolAttributes& attributes) {
  ONWARD_ASSIGN_OR_RETURN(const PoolGeometry g, PoolDims(attributes, context.input_dims(0)));
  if (g.axes.size() > kPoolAxes) return absl::UnimplementedError("the device pools up to 3 axes");
  for (int i = 0; i < context.num_outputs(); ++i) context.SetOutput(i, g.output);
  return WindowsOf(g);
}

using LaunchWindowPool = absl::Status (*)(const RunContext& context,
                                          const PoolAttributes& attributes);

// A pool whose state is its windows.
class WindowPool : public Kernel {
 public:
  WindowPool(LaunchWindowPool launch, PoolAttributes attributes)
      : launch_(launch), attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const PoolWindows windows, BindPool(context, attributes_));
    *context.NewState<PoolWindows>() = windows;
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    return launch_(context, attributes_);
  }

 private:
  LaunchWindowPool launch_;
  PoolAttributes attributes_;
};

// Calls visit(at) for the elements of X that the window of output i holds, in their order. Returns
// where its plane begins.
template <typename Visit>
__device__ int64_t VisitWindow(const PoolWindows& windows, int64_t i, Visit visit) {
  const WindowAxis *d = &windows.axes[0], *h = &windows.axes[1], *w = &windows.axes[2];
  int64_t rest = i, begin[kPoolAxes];
  for (int a = kPoolAxes - 1; a >= 0; --a) {
    const WindowAxis& axis = windows.axes[a];
    const int64_t above = Quotient(rest, axis.output);
    begin[a] = (rest - above * axis.output) * axis.stride - axis.pad_begin;
    rest = above;
  }
  const int64_t plane = rest * d->input * h->input * w->input;
  for (int64_t kd = 0, at_d = begin[0]; kd < d->kernel; ++kd, at_d += d->dilation) {
    if (at_d < 0 || at_d >= d->input) continue;
    for (int64_t kh = 0, at_h = begin[1]; kh < h->kernel; ++kh, at_h += h->dilation) {
      if (at_h < 0 || at_h >= h->input) continue;
      const int64_t line = plane + (at_d * h->input + at_h) * w->input;
      for (int64_t kw = 0, at_w = begin[2]; kw < w->kernel; ++kw, at_w += w->dilation) {
        if (at_w >= 0 && at_w < w->input) visit(line + at_w);
      }
    }
  }
  return plane;
}

}  // namespace onward::kernels::cuda
