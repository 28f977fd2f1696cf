// Ops whose output has the elements of input 0 in the same order: Identity, Flatten, Squeeze,
// Unsqueeze, Reshape.
#include "graph/base/shape.h"
#include "kernels/cpu/kernels.h"

namespace onward::cpu {
namespace {

absl::Status CopyToOutput(RunContext& context) {
  CopyElements(context.input(0), context.output(0));
  return absl::OkStatus();
}

// Sequences and optionals pass through Identity as objects.
class Identity : public Kernel {
 public:
  explicit Identity(bool is_tensor) : is_tensor_(is_tensor) {}
  absl::Status Bind(BindContext& context) const override {
    if (!is_tensor_) {
      context.SetOutputAtRun(0);
      return absl::OkStatus();
    }
    context.SetOutput(0, context.input_dims(0));
    context.AliasOutput(0, 0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    if (is_tensor_) return CopyToOutput(context);
    const SlotValue& slot = context.input_slot(0);
    if (slot.object != nullptr) return context.SetOutput(0, *slot.object);
    return context.SetOutput(0, Value(CopyOf(slot.tensor)));
  }

 private:
  bool is_tensor_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeIdentity(const NodeSpec& spec) {
  return std::make_unique<Identity>(spec.input_type(0).is_tensor());
}

constexpr KernelEntry kKernels[] = {
    {"", "Identity", "identity_reference", MakeIdentity},
};

}  // namespace

KernelList ReferenceIdentity() { return kKernels; }

}  // namespace onward::cpu
