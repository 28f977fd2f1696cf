// Dropout: the identity, or in training mode a random mask and the scale 1 / (1 - ratio).
#include "absl/strings/str_cat.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/random.h"

namespace onward::cpu {
namespace {

using DropoutTypes =
    Concat<FloatTypes, TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ>>;

// `mask` may be null. `begin` is a multiple of a block of random numbers.
template <typename T>
void RunDropout(const RandomStream& stream, double ratio, const void* in, void* out, bool* mask,
                int64_t begin, int64_t end) {
  using C = ComputeType<T>;
  const C scale = static_cast<C>(1.0 / (1.0 - ratio));
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  constexpr int64_t kPerBlock = UniformNumbers<float>::kPerBlock;
  const float limit = static_cast<float>(ratio);
  for (int64_t i = begin; i < end; i += kPerBlock) {
    float numbers[kPerBlock];
    UniformNumbers<float>::Draw(stream, static_cast<uint64_t>(i / kPerBlock), numbers);
    for (int64_t k = i; k < std::min(end, i + kPerBlock); ++k) {
      const bool keep = numbers[k - i] >= limit;
      y[k] = keep ? static_cast<T>(static_cast<C>(x[k]) * scale) : static_cast<T>(C(0));
      if (mask != nullptr) mask[k] = keep;
    }
  }
}

using DropoutLoop = void (*)(const RandomStream& stream, double ratio, const void* in, void* out,
                             bool* mask, int64_t begin, int64_t end);

class Dropout : public Kernel {
 public:
  Dropout(DropoutLoop loop, RandomSource source, bool may_train)
      : loop_(loop), source_(source), may_train_(may_train) {}

  absl::Status Bind(BindContext& context) const override {
    for (int i : {1, 2}) {
      if (context.has_input(i) && NumElements(context.input_dims(i)) != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat(i == 1 ? "ratio" : "training_mode", " has shape ",
                         DimsString(context.input_dims(i)), ", must be a scalar"));
      }
    }
    context.SetOutput(0, context.input_dims(0));
    if (context.has_output(1)) context.SetOutput(1, context.input_dims(0));
    if (may_train_) {
      context.AllowInPlace(0, 0);
    } else {
      context.AliasOutput(0, 0);
    }
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    const TensorView& out = context.output(0);
    bool* mask = context.has_output(1) ? context.out<bool>(1) : nullptr;
    const bool training = may_train_ && *context.in<bool>(2);
    const double ratio = training ? Ratio(context) : 0.0;
    if (ratio == 0.0) {
      if (in.data != out.data) CopyElements(in, out);
      if (mask != nullptr) std::fill(mask, mask + in.num_elements(), true);
      return absl::OkStatus();
    }
    if (!(ratio > 0.0 && ratio < 1.0))
      return absl::InvalidArgumentError(absl::StrCat("ratio is ", ratio, ", must be in [0, 1)"));
    const RandomStream stream = source_.Stream(context);
    context.ParallelFor(in.num_elements(), kMathGrain, [&](int64_t begin, int64_t end) {
      loop_(stream, ratio, in.data, out.data, mask, begin, end);
    });
    return absl::OkStatus();
  }
  bool pure() const override { return !may_train_; }

 private:
  static double Ratio(const RunContext& context) {
    double ratio = 0.5;
    if (!context.has_input(1)) return ratio;
    DispatchDType(DropoutTypes(), context.input(1).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ratio = static_cast<double>(static_cast<ComputeType<T>>(*context.in<T>(1)));
    });
    return ratio;
  }

  DropoutLoop loop_;
  RandomSource source_;
  bool may_train_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDropout(const NodeSpec& spec) {
  DropoutLoop loop = nullptr;
  DispatchDType(DropoutTypes(), spec.input_dtype(0),
                [&](auto tag) { loop = RunDropout<typename decltype(tag)::type>; });
  if (loop == nullptr) return NoLoopFor(spec.input_dtype(0));
  const Tensor* mode = spec.constant(2);
  const bool never =
      !spec.has_input(2) || (mode != nullptr && mode->num_elements() == 1 && !*mode->data<bool>());
  return std::make_unique<Dropout>(loop, RandomSource(spec), !never);
}

constexpr KernelEntry kKernels[] = {
    {"", "Dropout", "dropout_reference", MakeDropout},
};

}  // namespace

KernelList ReferenceDropout() { return kKernels; }

}  // namespace onward::cpu
