// Optional, OptionalHasElement, OptionalGetElement. An optional that holds something is that thing;
// one that holds nothing is the empty Value.
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

class AtRun : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    context.SetOutputAtRun(0);
    return absl::OkStatus();
  }

 protected:
  static Value InputValue(const RunContext& context) {
    if (!context.has_input(0)) return Value();
    const SlotValue& slot = context.input_slot(0);
    if (slot.object != nullptr) return *slot.object;
    return slot.tensor.dtype == DType::kUndefined ? Value() : Value(CopyOf(slot.tensor));
  }
};

class Optional : public AtRun {
 public:
  absl::Status Run(RunContext& context) const override {
    return context.SetOutput(0, InputValue(context));
  }
};

class OptionalHasElement : public AtRun {
 public:
  absl::Status Run(RunContext& context) const override {
    bool has = context.has_input(0);
    if (has) {
      const SlotValue& slot = context.input_slot(0);
      has = slot.object != nullptr ? slot.object->has_value()
                                   : slot.tensor.dtype != DType::kUndefined;
    }
    ONWARD_ASSIGN_OR_RETURN(const TensorView out, context.AllocateOutput(0, DType::kBool, {}));
    *out.as<bool>() = has;
    return absl::OkStatus();
  }
};

class OptionalGetElement : public AtRun {
 public:
  absl::Status Run(RunContext& context) const override {
    Value value = InputValue(context);
    if (!value.has_value()) return absl::InvalidArgumentError("the optional is empty");
    return context.SetOutput(0, std::move(value));
  }
};

template <typename K>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec&) {
  return std::make_unique<K>();
}

constexpr KernelEntry kKernels[] = {
    {"", "Optional", "optional_reference", Make<Optional>},
    {"", "OptionalHasElement", "optional_has_element_reference", Make<OptionalHasElement>},
    {"", "OptionalGetElement", "optional_get_element_reference", Make<OptionalGetElement>},
};

}  // namespace

KernelList ReferenceOptional() { return kKernels; }

}  // namespace onward::kernels::cpu
