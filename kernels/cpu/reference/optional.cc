// Optional, OptionalHasElement, OptionalGetElement. An optional that holds something is that thing;
// one that holds nothing is the empty Value.
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/at_run.h"

namespace onward::kernels::cpu {
namespace {

Value InputValue(const RunContext& context) {
  if (!context.has_input(0)) return Value();
  const SlotValue& slot = context.input_slot(0);
  if (slot.object != nullptr) return *slot.object;
  return slot.tensor.dtype == DType::kUndefined ? Value() : Value(CopyOf(slot.tensor));
}

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

constexpr KernelEntry kKernels[] = {
    {"", "Optional", "optional_reference", MakeAtRun<Optional>},
    {"", "OptionalHasElement", "optional_has_element_reference", MakeAtRun<OptionalHasElement>},
    {"", "OptionalGetElement", "optional_get_element_reference", MakeAtRun<OptionalGetElement>},
};

}  // namespace

KernelList ReferenceOptional() { return kKernels; }

}  // namespace onward::kernels::cpu
