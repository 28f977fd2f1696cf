// GlobalAveragePool and GlobalMaxPool over any number of axes: reductions of planes.
#include "kernels/bind/pool.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/reduce.cuh"

namespace onward::kernels::cuda {
namespace {

class GlobalPool : public Kernel {
 public:
  explicit GlobalPool(LaunchReducePlan launch) : launch_(launch) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView x = context.input_dims(0);
    ONWARD_ASSIGN_OR_RETURN(const Dims output, GlobalPoolDims(x));
    context.SetOutput(0, output);
    constexpr uint64_t kBatchAndChannels = 3;
    auto* plan = context.NewState<ReducePlan>();
    ONWARD_RETURN_IF_ERROR(BuildReducePlan(x, ~kBatchAndChannels, plan));
    context.SetScratch(ReduceScratch(*plan));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const ReducePlan plan = ReducePlanOf(context);
    if (plan.kept_count == 0) return absl::OkStatus();
    return launch_(context.input(0).data, context.output(0).data, context.scratch<void>(), plan,
                   StreamOf(context));
  }

 private:
  LaunchReducePlan launch_;
};

template <typename R>
absl::StatusOr<std::unique_ptr<Kernel>> MakeGlobalPool(const NodeSpec& spec) {
  LaunchReducePlan launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchReduce<R, typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<GlobalPool>(launch);
}

constexpr KernelEntry kKernels[] = {
    {"", "GlobalAveragePool", "global_average_pool_cuda", MakeGlobalPool<reductions::Mean>},
    {"", "GlobalMaxPool", "global_max_pool_cuda", MakeGlobalPool<reductions::Maximum>},
};

}  // namespace

KernelList GlobalPoolKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
