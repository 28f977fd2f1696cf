// Col2Im over one to three axes: a thread for each element of the image adds what blocks hold of
// it, in the order of the block's elements.
#include <algorithm>
#include <utility>

#include "kernels/binary_functors.h"
#include "kernels/bind/col2im.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kAxes = 3;  // missing outer ones have one element

struct Blocked {
  int64_t count, columns;  // outputs, positions of the block
  Col2ImAxis axes[kAxes];
};

// The position of the block whose element k lies at `at` of the image; -1 where there is none.
__device__ int64_t ColumnOf(const Col2ImAxis& axis, int64_t at, int64_t k) {
  const int64_t start = at + axis.pad - k * axis.dilation;
  if (start < 0) return -1;
  const int64_t column = Quotient(start, axis.stride);
  return column < axis.columns && column * axis.stride == start ? column : -1;
}

template <typename T>
__global__ void Col2ImLoop(const T* x, T* y, Blocked blocked) {
  using C = ComputeType<T>;
  const Col2ImAxis *d = &blocked.axes[0], *h = &blocked.axes[1], *w = &blocked.axes[2];
  for (int64_t i = GlobalIndex(); i < blocked.count; i += GlobalSize()) {
    int64_t plane = i, at[kAxes];
    for (int a = kAxes - 1; a >= 0; --a) {
      const int64_t above = Quotient(plane, blocked.axes[a].image);
      at[a] = plane - above * blocked.axes[a].image;
      plane = above;
    }
    C sum = 0;
    for (int64_t kd = 0; kd < d->block; ++kd) {
      const int64_t column_d = ColumnOf(*d, at[0], kd);
      if (column_d < 0) continue;
      for (int64_t kh = 0; kh < h->block; ++kh) {
        const int64_t column_h = ColumnOf(*h, at[1], kh);
        if (column_h < 0) continue;
        const int64_t element = (plane * d->block + kd) * h->block + kh;
        const int64_t line = column_d * h->columns + column_h;
        for (int64_t kw = 0; kw < w->block; ++kw) {
          const int64_t column_w = ColumnOf(*w, at[2], kw);
          if (column_w < 0) continue;
          const T* columns = x + (element * w->block + kw) * blocked.columns;
          sum = functors::Add()(sum, Load(columns[line * w->columns + column_w]));
        }
      }
    }
    y[i] = Rounded<T>(sum);
  }
}

using LaunchBlocks = absl::Status (*)(const RunContext& context, const Blocked& blocked);

template <typename T>
absl::Status LaunchCol2Im(const RunContext& context, const Blocked& blocked) {
  return Launch(Col2ImLoop<T>, Blocks(blocked.count), kThreads, 0, StreamOf(context),
                context.in<T>(0), context.out<T>(0), blocked);
}

class Col2Im : public Kernel {
 public:
  Col2Im(LaunchBlocks launch, Col2ImAttributes attributes)
      : launch_(launch), attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindCol2Im(context, attributes_));
    if (context.deferred() || static_cast<const Col2ImPlan*>(context.state())->axes <= kAxes)
      return absl::OkStatus();
    return absl::UnimplementedError("the device's Col2Im takes up to 3 axes");
  }
  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<Col2ImPlan>();
    Blocked blocked;
    blocked.count = context.output(0).num_elements();
    if (blocked.count == 0) return absl::OkStatus();
    blocked.columns = plan.columns;
    for (Col2ImAxis& axis : blocked.axes) axis.image = axis.block = axis.columns = 1;
    std::copy_n(plan.of_axis, plan.axes, blocked.axes + (kAxes - plan.axes));
    return launch_(context, blocked);
  }
  uint64_t host_inputs() const override { return 6; }  // the sizes of image and block

 private:
  LaunchBlocks launch_;
  Col2ImAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeCol2Im(const NodeSpec& spec) {
  LaunchBlocks launch = nullptr;
  using Types = Concat<FloatTypes, TypeList<int8_t, uint8_t, int32_t, int64_t>>;
  DispatchDType(Types(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchCol2Im<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Col2Im>(launch, Col2ImAttributes::Read(spec));
}

constexpr KernelEntry kKernels[] = {{"", "Col2Im", "col2im_cuda", MakeCol2Im}};

}  // namespace

KernelList Col2ImKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
