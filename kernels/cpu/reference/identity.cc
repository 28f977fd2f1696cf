// Ops whose output has the elements of input 0 in the same order.
#include "kernels/bind/identity.h"

#include <utility>

#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

// Its Run copies where the memory was not shared.
class SameElements : public Kernel {
 public:
  explicit SameElements(BindSameElements bind) : bind_(std::move(bind)) {}
  absl::Status Bind(BindContext& context) const override { return bind_(context); }
  absl::Status Run(RunContext& context) const override {
    CopyElements(context.input(0), context.output(0));
    return absl::OkStatus();
  }

 private:
  const BindSameElements bind_;
};

// Sequences and optionals pass through Identity as objects.
class IdentityOfObject : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    context.SetOutputAtRun(0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const SlotValue& slot = context.input_slot(0);
    if (slot.object != nullptr) return context.SetOutput(0, *slot.object);
    return context.SetOutput(0, slot.present ? Value(CopyOf(slot.tensor)) : Value());
  }
};

Made MakeSameElements(const NodeSpec& spec) {
  return std::make_unique<SameElements>(BindOfSameElements(spec));
}

Made MakeIdentity(const NodeSpec& spec) {
  if (spec.input_type(0).is_tensor()) return MakeSameElements(spec);
  return std::make_unique<IdentityOfObject>();
}

constexpr KernelEntry kKernels[] = {
    {"", "Identity", "identity_reference", MakeIdentity},
    {"onward", "After", "after_reference", MakeIdentity},
    {"", "Flatten", "flatten_reference", MakeSameElements},
    {"", "Squeeze", "squeeze_reference", MakeSameElements},
    {"", "Unsqueeze", "unsqueeze_reference", MakeSameElements},
    {"", "Reshape", "reshape_reference", MakeSameElements},
    {"onward", "RequireShape", "require_shape_reference", MakeSameElements},
};

}  // namespace

KernelList ReferenceIdentity() { return kKernels; }

}  // namespace onward::kernels::cpu
