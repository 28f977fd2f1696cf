// Elementwise ops of one operand, from the functors that the CPU kernels use.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/elementwise_functors.h"

namespace onward::cuda {
namespace {

struct Parameters {
  float values[2];
};

template <typename F, typename T>
__global__ void UnaryLoop(const T* in, T* out, int64_t count, Parameters parameters) {
  const F f = MakeFunctor<F>(parameters.values);
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) out[i] = f(in[i]);
}

using LaunchLoop = absl::Status (*)(const void* in, void* out, int64_t count, Parameters parameters,
                                    cudaStream_t stream);

template <typename F, typename T>
absl::Status LaunchUnary(const void* in, void* out, int64_t count, Parameters parameters,
                         cudaStream_t stream) {
  return Launch(UnaryLoop<F, T>, Blocks(count), kThreads, 0, stream, static_cast<const T*>(in),
                static_cast<T*>(out), count, parameters);
}

class Unary : public Kernel {
 public:
  Unary(LaunchLoop launch, Parameters parameters) : launch_(launch), parameters_(parameters) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    context.AllowInPlace(0, 0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.input(0).num_elements();
    if (count == 0) return absl::OkStatus();
    return launch_(context.input(0).data, context.output(0).data, count, parameters_,
                   static_cast<cudaStream_t>(context.services()->stream()));
  }

 private:
  LaunchLoop launch_;
  Parameters parameters_;
};

template <typename F>
absl::StatusOr<std::unique_ptr<Kernel>> MakeUnary(const NodeSpec& spec) {
  Parameters parameters = {};
  if constexpr (requires { F::kParameters; }) {
    int i = 0;
    for (const FunctorParameter& parameter : F::kParameters) {
      parameters.values[i++] = spec.attributes().Float(parameter.attribute, parameter.otherwise);
    }
  }
  if (spec.input_dtype(0) == DType::kFloat32)
    return std::make_unique<Unary>(LaunchUnary<F, float>, parameters);
  if (spec.input_dtype(0) == DType::kFloat64)
    return std::make_unique<Unary>(LaunchUnary<F, double>, parameters);
  return absl::UnimplementedError("only float32 and float64");
}

constexpr KernelEntry kKernels[] = {
    {"", "Abs", "abs_cuda", MakeUnary<functors::Abs>},
    {"", "Ceil", "ceil_cuda", MakeUnary<functors::Ceil>},
    {"", "Cos", "cos_cuda", MakeUnary<functors::Cos>},
    {"", "Elu", "elu_cuda", MakeUnary<functors::Elu>},
    {"", "Erf", "erf_cuda", MakeUnary<functors::Erf>},
    {"", "Exp", "exp_cuda", MakeUnary<functors::Exp>},
    {"", "Floor", "floor_cuda", MakeUnary<functors::Floor>},
    {"", "HardSwish", "hard_swish_cuda", MakeUnary<functors::HardSwish>},
    {"", "Log", "log_cuda", MakeUnary<functors::Log>},
    {"", "Neg", "neg_cuda", MakeUnary<functors::Neg>},
    {"", "Reciprocal", "reciprocal_cuda", MakeUnary<functors::Reciprocal>},
    {"", "Relu", "relu_cuda", MakeUnary<functors::Relu>},
    {"", "Sigmoid", "sigmoid_cuda", MakeUnary<functors::Sigmoid>},
    {"", "Sin", "sin_cuda", MakeUnary<functors::Sin>},
    {"", "Softplus", "softplus_cuda", MakeUnary<functors::Softplus>},
    {"", "Sqrt", "sqrt_cuda", MakeUnary<functors::Sqrt>},
    {"", "Tanh", "tanh_cuda", MakeUnary<functors::Tanh>},
};

}  // namespace

KernelList UnaryKernels() { return kKernels; }

}  // namespace onward::cuda
