#include "kernels/cpu/conv_algorithm.h"

namespace onward::kernels::cpu {
namespace {

// One algorithm for all sizes. The state is the algorithm's.
template <typename Attributes>
class KernelOfAlgorithm : public Kernel {
 public:
  KernelOfAlgorithm(Attributes attributes, std::unique_ptr<ConvAlgorithm> algorithm)
      : attributes_(std::move(attributes)), algorithm_(std::move(algorithm)) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const ConvGeometry g, BindConv(attributes_, context));
    const void* state = algorithm_->Bind(context, g);
    *context.NewState<const void*>() = state;
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    algorithm_->Run(context, context.state<const void*>());
    return absl::OkStatus();
  }

 private:
  Attributes attributes_;
  std::unique_ptr<ConvAlgorithm> algorithm_;
};

}  // namespace

std::unique_ptr<Kernel> ConvKernel(ConvAttributes attributes,
                                   std::unique_ptr<ConvAlgorithm> algorithm) {
  return std::make_unique<KernelOfAlgorithm<ConvAttributes>>(std::move(attributes),
                                                             std::move(algorithm));
}

std::unique_ptr<Kernel> ConvKernel(ConvTransposeAttributes attributes,
                                   std::unique_ptr<ConvAlgorithm> algorithm) {
  return std::make_unique<KernelOfAlgorithm<ConvTransposeAttributes>>(std::move(attributes),
                                                                      std::move(algorithm));
}

}  // namespace onward::kernels::cpu
