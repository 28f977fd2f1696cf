// Dropout with the numbers that the CPU draws. A node with a seed is the CPU's: its numbers, those
// of NumPy's generator, come one from the other.
#include "kernels/bind/dropout.h"
#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/random.cuh"

namespace onward::kernels::cuda {
namespace {

using Numbers = UniformNumbers<float>;

struct Drop {
  DeviceStream stream;
  BatchElements elements;
  double ratio;
};

// `mask` may be null, `y` may be `x`.
template <typename T>
__global__ void DropElements(const T* x, T* y, bool* mask, int64_t count, Drop drop) {
  using C = ComputeType<T>;
  const C scale = static_cast<C>(1.0 / (1.0 - drop.ratio));
  ForEachNumber<Numbers, float>(drop.stream.Now(), drop.elements, count,
                                [&](int64_t i, float number) {
                                  const bool keep = static_cast<double>(number) >= drop.ratio;
                                  y[i] = keep ? Rounded<T>(Load(x[i]) * scale) : Rounded<T>(C(0));
                                  if (mask != nullptr) mask[i] = keep;
                                });
}

using LaunchDrop = absl::Status (*)(const RunContext& context, bool* mask, const Drop& drop);

template <typename T>
absl::Status LaunchElements(const RunContext& context, bool* mask, const Drop& drop) {
  const int64_t count = context.input(0).num_elements();
  return Launch(DropElements<T>, NumberBlocks<Numbers>(drop.elements, count), kThreads, 0,
                StreamOf(context), context.in<T>(0), context.out<T>(0), mask, count, drop);
}

class Dropout : public Kernel {
 public:
  Dropout(LaunchDrop launch, RandomSource source, bool may_drop)
      : launch_(launch), source_(source), may_drop_(may_drop) {}
  absl::Status Bind(BindContext& context) const override { return BindDropout(context, may_drop_); }
  absl::Status Run(RunContext& context) const override {
    const TensorView& x = context.input(0);
    bool* mask = context.has_output(1) ? context.out<bool>(1) : nullptr;
    ONWARD_ASSIGN_OR_RETURN(const double ratio, DropoutRatio(context, may_drop_));
    const int64_t count = x.num_elements();
    if (count == 0) return absl::OkStatus();
    if (ratio > 0) {
      return launch_(context, mask,
                     {DeviceStreamOf(source_, context), source_.Elements(context, x.dims), ratio});
    }
    if (mask != nullptr)
      ONWARD_RETURN_IF_ERROR(
          ToStatus(cudaMemsetAsync(mask, 1, static_cast<size_t>(count), StreamOf(context))));
    return CopyInput(context);
  }
  uint64_t host_inputs() const override { return 6; }  // ratio and training_mode
  bool pure() const override { return !may_drop_; }

 private:
  LaunchDrop launch_;
  RandomSource source_;
  bool may_drop_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDropout(const NodeSpec& spec) {
  if (spec.attributes().Has("seed") && MayDrop(spec))
    return absl::UnimplementedError("a seed's numbers are drawn on the host");
  LaunchDrop launch = nullptr;
  DispatchDType(FloatTypes(), spec.input_dtype(0),
                [&](auto tag) { launch = LaunchElements<typename decltype(tag)::type>; });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<Dropout>(launch, RandomSource(spec), MayDrop(spec));
}

constexpr KernelEntry kKernels[] = {{"", "Dropout", "dropout_cuda", MakeDropout}};

}  // namespace

KernelList DropoutKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
