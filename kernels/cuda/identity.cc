// Ops whose output has the elements of input 0 in the same order. Their dims are computed by the
// host kernels.
#include "kernels/cpu/families.h"
#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

class SameElements : public Kernel {
 public:
  explicit SameElements(std::unique_ptr<Kernel> host) : host_(std::move(host)) {}
  absl::Status Bind(BindContext& context) const override { return host_->Bind(context); }
  absl::Status Run(RunContext& context) const override { return CopyInput(context); }
  uint64_t host_inputs() const override { return ~uint64_t{1}; }  // shapes and axes

 private:
  std::unique_ptr<Kernel> host_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeSameElements(const NodeSpec& spec) {
  if (!spec.input_type(0).is_tensor() || spec.input_dtype(0) == DType::kString) {
    return absl::UnimplementedError("only tensors of numbers lie on the device");
  }
  for (const KernelEntry& entry : cpu::ReferenceIdentity()) {
    if (entry.op != spec.node().op_type || entry.domain != spec.node().domain) continue;
    ONWARD_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> host, entry.make(spec));
    return std::make_unique<SameElements>(std::move(host));
  }
  return absl::UnimplementedError("no host kernel computes the dims");
}

constexpr KernelEntry kKernels[] = {
    {"", "Flatten", "flatten_cuda", MakeSameElements},
    {"", "Identity", "identity_cuda", MakeSameElements},
    {"", "Reshape", "reshape_cuda", MakeSameElements},
    {"", "Squeeze", "squeeze_cuda", MakeSameElements},
    {"", "Unsqueeze", "unsqueeze_cuda", MakeSameElements},
};

}  // namespace

KernelList IdentityKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
