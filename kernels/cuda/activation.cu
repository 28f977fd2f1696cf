// Activations: elementwise functions of one operand.
#include "absl/strings/str_cat.h"
#include "kernels/cuda/unary.cuh"

namespace onward::kernels::cuda {
namespace {

namespace f = functors;

absl::StatusOr<std::unique_ptr<Kernel>> MakeGelu(const NodeSpec& spec) {
  const std::string approximate = spec.attributes().String("approximate", "none");
  if (approximate == "none") return MakeUnary<f::GeluErf>(spec);
  if (approximate == "tanh") return MakeUnary<f::GeluTanh>(spec);
  return absl::InvalidArgumentError(
      absl::StrCat("approximate is '", approximate, "', not 'none' or 'tanh'"));
}

constexpr KernelEntry kKernels[] = {
    {"", "Celu", "celu_cuda", MakeUnary<f::Celu>},
    {"", "Elu", "elu_cuda", MakeUnary<f::Elu>},
    {"", "Gelu", "gelu_cuda", MakeGelu},
    {"", "HardSigmoid", "hard_sigmoid_cuda", MakeUnary<f::HardSigmoid>},
    {"", "HardSwish", "hard_swish_cuda", MakeUnary<f::HardSwish>},
    {"", "LeakyRelu", "leaky_relu_cuda", MakeUnary<f::LeakyRelu>},
    {"", "Mish", "mish_cuda", MakeUnary<f::Mish>},
    {"", "Relu", "relu_cuda", MakeUnary<f::Relu, Concat<FloatTypes, TypeList<int32_t, int64_t>>>},
    {"", "Selu", "selu_cuda", MakeUnary<f::Selu>},
    {"", "Shrink", "shrink_cuda", MakeUnary<f::Shrink>},
    {"", "Sigmoid", "sigmoid_cuda", MakeUnary<f::Sigmoid>},
    {"", "Softplus", "softplus_cuda", MakeUnary<f::Softplus>},
    {"", "Softsign", "softsign_cuda", MakeUnary<f::Softsign>},
    {"", "Swish", "swish_cuda", MakeUnary<f::Swish>},
    {"", "ThresholdedRelu", "thresholded_relu_cuda", MakeUnary<f::ThresholdedRelu>},
};

}  // namespace

KernelList ActivationKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
