// MaxUnpool, by element size. Of indices that repeat the last one counts, as on the host, so that
// what an output holds does not depend on which thread comes first.
#include <utility>

#include "graph/base/checked.h"
#include "kernels/bind/max_unpool.h"
#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/chunks.cuh"
#include "kernels/cuda/fault.cuh"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kMostAxes = 8;

using Source = unsigned long long;  // NOLINT(google-runtime-int): what atomicCAS takes

struct Unpooled {
  int64_t inputs, outputs, size;  // size: what indices are below
  int rank;
  int64_t dims[kMostAxes], strides[kMostAxes];  // inferred, of the output; the last axis first
};

// The place only grows, so that its greatest value does not depend on an order.
__device__ void RaiseTo(Source* place, Source value) {
  Source seen = *place;
  while (seen < value) {
    const Source before = atomicCAS(place, seen, value);
    if (before == seen) return;
    seen = before;
  }
}

// Leaves 1 + the last input of each output in `sources`, which are 0.
__global__ void FindSources(const int64_t* indices, Source* sources, Unpooled plan,
                            DeviceFaultSite fault) {
  for (int64_t i = GlobalIndex(); i < plan.inputs; i += GlobalSize()) {
    int64_t rest = indices[i], at = 0;
    if (rest < 0 || rest >= plan.size) {
      ReportBadIndex(fault, i, rest, plan.size);
      continue;
    }
    for (int d = 0; d < plan.rank; ++d) {
      const int64_t above = Quotient(rest, plan.dims[d]);
      at += (rest - above * plan.dims[d]) * plan.strides[d];
      rest = above;
    }
    RaiseTo(sources + at, static_cast<Source>(i) + 1);
  }
}

template <typename T>
__global__ void MoveSources(const T* x, const Source* sources, T* y, int64_t count) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize())
    y[i] = sources[i] == 0 ? T{} : x[sources[i] - 1];
}

class MaxUnpool : public Kernel {
 public:
  explicit MaxUnpool(PoolAttributes attributes) : attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(BindMaxUnpool(context, attributes_));
    if (context.deferred()) return absl::OkStatus();
    const auto& plan = *static_cast<const MaxUnpoolPlan*>(context.state());
    if (plan.inferred.size() > kMostAxes)
      return absl::UnimplementedError("more axes than the device's MaxUnpool takes");
    ONWARD_ASSIGN_OR_RETURN(const int64_t bytes, CheckedByteSize(DType::kUint64, {plan.outputs}));
    context.SetScratch(bytes);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const Unpooled plan = PlanOf(context);
    if (plan.outputs == 0 && plan.inputs == 0) return absl::OkStatus();
    auto* sources = context.scratch<Source>();
    if (plan.outputs > 0) {
      ONWARD_RETURN_IF_ERROR(ToStatus(cudaMemsetAsync(
          sources, 0, static_cast<size_t>(plan.outputs) * sizeof(Source), StreamOf(context))));
    }
    if (plan.inputs > 0) {
      ONWARD_RETURN_IF_ERROR(Launch(FindSources, Blocks(plan.inputs), kThreads, 0,
                                    StreamOf(context), context.in<int64_t>(1), sources, plan,
                                    context.services()->device_fault()));
    }
    if (plan.outputs == 0) return absl::OkStatus();
    const auto bytes = static_cast<uint64_t>(BitSize(context.input(0).dtype) / 8);
    return DispatchChunk(bytes, [&](auto chunk) {
      using T = decltype(chunk);
      return Launch(MoveSources<T>, Blocks(plan.outputs), kThreads, 0, StreamOf(context),
                    context.in<T>(0), sources, context.out<T>(0), plan.outputs);
    });
  }
  uint64_t host_inputs() const override { return 4; }  // output_shape

 private:
  static Unpooled PlanOf(const RunContext& context) {
    const auto& bound = context.state<MaxUnpoolPlan>();
    Unpooled plan = {};
    plan.inputs = context.input(0).num_elements();
    plan.outputs = bound.outputs;
    plan.size = bound.size;
    plan.rank = static_cast<int>(bound.inferred.size());
    for (int d = 0; d < plan.rank; ++d) {
      plan.dims[d] = bound.inferred[plan.rank - 1 - d];
      plan.strides[d] = bound.strides[plan.rank - 1 - d];
    }
    return plan;
  }

  PoolAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxUnpool(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(PoolAttributes attributes, PoolAttributes::Parse(spec));
  bool moves = false;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto) { moves = true; });
  if (!moves) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<MaxUnpool>(std::move(attributes));
}

constexpr KernelEntry kKernels[] = {{"", "MaxUnpool", "max_unpool_cuda", MakeMaxUnpool}};

}  // namespace

KernelList MaxUnpoolKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
