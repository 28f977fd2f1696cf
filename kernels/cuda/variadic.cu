// Max, Mean, Min and Sum of any number of operands: one launch for each after the first.
#include "kernels/bind/variadic.h"
#include "kernels/cuda/binary.cuh"
#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/unary.cuh"

namespace onward::kernels::cuda {
namespace {

class Variadic : public Kernel {
 public:
  // `divide`, if any, divides the result by the number of operands.
  Variadic(LaunchBinaryLoop launch, LaunchUnaryLoop divide, int num_inputs)
      : launch_(launch), divide_(divide), num_inputs_(num_inputs) {}
  absl::Status Bind(BindContext& context) const override {
    return BindVariadic(context, num_inputs_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto* loops = context.state<const BroadcastLoop<2>*>();
    const TensorView& out = context.output(0);
    const int64_t count = out.num_elements();
    if (count == 0) return absl::OkStatus();
    if (num_inputs_ == 1) return CopyInput(context);
    cudaStream_t stream = StreamOf(context);
    const void* chain = context.input(0).data;
    for (int i = 1; i < num_inputs_; ++i) {
      ONWARD_RETURN_IF_ERROR(
          launch_(chain, context.input(i).data, out.data, count, loops[i], {}, stream));
      chain = out.data;
    }
    if (divide_ == nullptr) return absl::OkStatus();
    return divide_(out.data, out.data, count, {{static_cast<float>(num_inputs_), 0}}, stream);
  }

 private:
  LaunchBinaryLoop launch_;
  LaunchUnaryLoop divide_;
  int num_inputs_;
};

template <typename F, typename Types, bool kMean = false>
absl::StatusOr<std::unique_ptr<Kernel>> MakeVariadic(const NodeSpec& spec) {
  LaunchBinaryLoop launch = nullptr;
  LaunchUnaryLoop divide = nullptr;
  DispatchDType(Types(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch = LaunchBinary<F, T, T, T>;
    if constexpr (kMean) divide = LaunchUnary<DivideBy, T, T>;
  });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Variadic>(launch, divide, spec.num_inputs());
}

constexpr KernelEntry kKernels[] = {
    {"", "Max", "max_cuda", MakeVariadic<functors::Max, BinaryTypes>},
    {"", "Mean", "mean_cuda", MakeVariadic<functors::Add, FloatTypes, true>},
    {"", "Min", "min_cuda", MakeVariadic<functors::Min, BinaryTypes>},
    {"", "Sum", "sum_cuda", MakeVariadic<functors::Add, FloatTypes>},
};

}  // namespace

KernelList VariadicKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
