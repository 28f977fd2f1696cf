// RandomUniform, RandomNormal, those like an input, and Bernoulli.
#include "kernels/bind/random.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/random.cuh"

namespace onward::kernels::cuda {
namespace {

struct Draw {
  DeviceStream stream;
  BatchElements elements;
};

template <bool kNormal, typename C>
using NumbersOf = std::conditional_t<kNormal, NormalNumbers<C>, UniformNumbers<C>>;

template <typename T, bool kNormal>
__global__ void FillLoop(T* out, int64_t count, float first_of, float second_of, Draw draw) {
  using C = ComputeType<T>;
  const C first = static_cast<C>(first_of), second = static_cast<C>(second_of);
  ForEachNumber<NumbersOf<kNormal, C>, C>(
      draw.stream.Now(), draw.elements, count, [&](int64_t i, C number) {
        if constexpr (kNormal) {
          out[i] = Rounded<T>(first + number * second);
        } else {
          const T drawn = Rounded<T>(first + number * (second - first));
          // Rounding may reach the bound that is excluded.
          out[i] = Load(drawn) >= second ? Rounded<T>(first) : drawn;
        }
      });
}

template <typename P, typename T>
__global__ void BernoulliLoop(const P* p, T* out, int64_t count, Draw draw) {
  using C = ComputeType<P>;
  ForEachNumber<UniformNumbers<C>, C>(
      draw.stream.Now(), draw.elements, count, [&](int64_t i, C number) {
        out[i] = Rounded<T>(number < Load(p[i]) ? ComputeType<T>(1) : ComputeType<T>(0));
      });
}

using LaunchFill = absl::Status (*)(const RunContext& context, const RandomFillAttributes& fill,
                                    const Draw& draw);

template <typename T, bool kNormal>
absl::Status LaunchFillLoop(const RunContext& context, const RandomFillAttributes& fill,
                            const Draw& draw) {
  const int64_t count = context.output(0).num_elements();
  return Launch(FillLoop<T, kNormal>,
                NumberBlocks<NumbersOf<kNormal, ComputeType<T>>>(draw.elements, count), kThreads, 0,
                StreamOf(context), context.out<T>(0), count, fill.first, fill.second, draw);
}

using LaunchBernoulli = absl::Status (*)(const RunContext& context, const Draw& draw);

template <typename P, typename T>
absl::Status LaunchBernoulliLoop(const RunContext& context, const Draw& draw) {
  const int64_t count = context.output(0).num_elements();
  return Launch(BernoulliLoop<P, T>,
                NumberBlocks<UniformNumbers<ComputeType<P>>>(draw.elements, count), kThreads, 0,
                StreamOf(context), context.in<P>(0), context.out<T>(0), count, draw);
}

class RandomKernel : public Kernel {
 public:
  explicit RandomKernel(RandomSource source) : source_(source) {}
  absl::Status Run(RunContext& context) const override {
    const DimsView dims = context.output(0).dims;
    if (NumElements(dims) == 0) return absl::OkStatus();
    return LaunchNumbers(context,
                         {DeviceStreamOf(source_, context), source_.Elements(context, dims)});
  }
  bool pure() const override { return false; }

 protected:
  virtual absl::Status LaunchNumbers(const RunContext& context, const Draw& draw) const = 0;

 private:
  RandomSource source_;
};

class RandomFill : public RandomKernel {
 public:
  RandomFill(LaunchFill launch, RandomSource source, RandomFillAttributes attributes)
      : RandomKernel(source), launch_(launch), attributes_(std::move(attributes)) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, attributes_.OutputDims(context));
    return absl::OkStatus();
  }

 protected:
  absl::Status LaunchNumbers(const RunContext& context, const Draw& draw) const override {
    return launch_(context, attributes_, draw);
  }

 private:
  LaunchFill launch_;
  RandomFillAttributes attributes_;
};

class Bernoulli : public RandomKernel {
 public:
  Bernoulli(LaunchBernoulli launch, RandomSource source) : RandomKernel(source), launch_(launch) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }

 protected:
  absl::Status LaunchNumbers(const RunContext& context, const Draw& draw) const override {
    return launch_(context, draw);
  }

 private:
  LaunchBernoulli launch_;
};

template <bool kNormal, bool kLike>
absl::StatusOr<std::unique_ptr<Kernel>> MakeRandomFill(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(RandomFillAttributes attributes, ParseRandomFill(spec, kNormal, kLike));
  LaunchFill launch = nullptr;
  DispatchDType(FloatTypes(), attributes.dtype,
                [&](auto tag) { launch = LaunchFillLoop<typename decltype(tag)::type, kNormal>; });
  if (launch == nullptr) return NoLoopFor(attributes.dtype);
  return std::make_unique<RandomFill>(launch, RandomSource(spec), std::move(attributes));
}

// The result has the probabilities' type, or it is a mask: bool, float or a whole number.
absl::StatusOr<std::unique_ptr<Kernel>> MakeBernoulli(const NodeSpec& spec) {
  const DType of_p = spec.input_dtype(0), dtype = DTypeAttribute(spec, of_p);
  LaunchBernoulli launch = nullptr;
  DispatchDType(FloatTypes(), of_p, [&](auto in) {
    using P = typename decltype(in)::type;
    if (dtype == of_p) launch = LaunchBernoulliLoop<P, P>;
    DispatchDType(TypeList<float, bool, int32_t, int64_t>(), dtype,
                  [&](auto out) { launch = LaunchBernoulliLoop<P, typename decltype(out)::type>; });
  });
  if (launch == nullptr) return NoLoopFor(dtype);
  return std::make_unique<Bernoulli>(launch, RandomSource(spec));
}

constexpr KernelEntry kKernels[] = {
    {"", "Bernoulli", "bernoulli_cuda", MakeBernoulli},
    {"", "RandomNormal", "random_normal_cuda", MakeRandomFill<true, false>},
    {"", "RandomNormalLike", "random_normal_like_cuda", MakeRandomFill<true, true>},
    {"", "RandomUniform", "random_uniform_cuda", MakeRandomFill<false, false>},
    {"", "RandomUniformLike", "random_uniform_like_cuda", MakeRandomFill<false, true>},
};

}  // namespace

KernelList RandomKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
