// AllReduce: the sum over all ranks, where their communicator sums in the device's memory.
#include "kernels/bind/all_reduce.h"

#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/kernel_list.h"
#include "onward/communicator.h"

namespace onward::kernels::cuda {
namespace {

class AllReduce : public Kernel {
 public:
  explicit AllReduce(Communicator* communicator) : communicator_(communicator) {}

  absl::Status Bind(BindContext& context) const override { return BindAllReduce(context); }

  absl::Status Run(RunContext& context) const override {
    ONWARD_RETURN_IF_ERROR(CopyInput(context));
    if (communicator_ == nullptr) return absl::OkStatus();
    return communicator_->AllReduce(context.output(0), context.services()->stream());
  }

  bool pure() const override { return false; }

 private:
  Communicator* const communicator_;  // null: there is one rank
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAllReduce(const NodeSpec& spec) {
  Communicator* const communicator = spec.options().communicator;
  if (communicator != nullptr && communicator->device().is_host())
    return absl::UnimplementedError("the ranks' sums are of the host's memory");
  const DType dtype = spec.input_dtype(0);
  if (dtype == DType::kInt16 || dtype == DType::kUint16)
    return absl::UnimplementedError("NCCL has no sum of 16-bit integers");
  return std::make_unique<AllReduce>(communicator);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "AllReduce", "all_reduce_cuda", MakeAllReduce},
};

}  // namespace

KernelList AllReduceKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
