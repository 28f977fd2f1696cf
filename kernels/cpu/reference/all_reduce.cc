// AllReduce: the sum over all ranks, by the session's communicator.
#include "kernels/bind/all_reduce.h"

#include "kernels/cpu/kernel_list.h"
#include "onward/communicator.h"

namespace onward::kernels::cpu {
namespace {

class AllReduce : public Kernel {
 public:
  explicit AllReduce(Communicator* communicator) : communicator_(communicator) {}

  absl::Status Bind(BindContext& context) const override { return BindAllReduce(context); }

  absl::Status Run(RunContext& context) const override {
    const TensorView& out = context.output(0);
    if (context.input(0).data != out.data) CopyElements(context.input(0), out);
    if (communicator_ == nullptr) return absl::OkStatus();
    return communicator_->AllReduce(out, context.services()->stream());
  }

  // Others' values are not known while binding.
  bool pure() const override { return false; }

 private:
  Communicator* const communicator_;  // null: there is one rank
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAllReduce(const NodeSpec& spec) {
  return std::make_unique<AllReduce>(spec.options().communicator);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "AllReduce", "all_reduce_reference", MakeAllReduce},
};

}  // namespace

KernelList ReferenceAllReduce() { return kKernels; }

}  // namespace onward::kernels::cpu
