#include "kernels/cpu/packed.h"

#include <utility>

#include "absl/container/inlined_vector.h"

namespace onward::kernels::cpu {
namespace {

class UnpackedElements : public Kernel {
 public:
  explicit UnpackedElements(std::unique_ptr<Kernel> inner) : inner_(std::move(inner)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_RETURN_IF_ERROR(inner_->Bind(context));
    for (int i = 0; i < context.num_outputs(); ++i) context.AliasOutput(i, -1);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override;
  bool pure() const override { return inner_->pure(); }

 private:
  std::unique_ptr<Kernel> inner_;
};

// The same tensor with memory for one byte per element.
absl::Status GiveBytes(RunContext& context, TensorView& view) {
  ONWARD_ASSIGN_OR_RETURN(view.data, context.AllocateTemporary(view.num_elements()));
  return absl::OkStatus();
}

absl::Status UnpackedElements::Run(RunContext& context) const {
  const int num_inputs = context.num_inputs(), num_outputs = context.num_outputs();
  absl::InlinedVector<SlotValue, 6> slots(static_cast<size_t>(num_inputs + num_outputs));
  absl::InlinedVector<int32_t, 6> indices(slots.size(), -1);
  for (int i = 0; i < num_inputs; ++i) {
    if (!context.has_input(i)) continue;
    SlotValue& slot = slots[static_cast<size_t>(i)] = context.input_slot(i);
    indices[static_cast<size_t>(i)] = i;
    if (!IsSubByte(slot.tensor.dtype)) continue;
    ONWARD_RETURN_IF_ERROR(GiveBytes(context, slot.tensor));
    UnpackSubByte(slot.tensor.dtype, context.input(i).data, slot.tensor.num_elements(),
                  slot.tensor.as<int8_t>());
  }
  for (int i = 0; i < num_outputs; ++i) {
    if (!context.has_output(i)) continue;
    const int at = num_inputs + i;
    SlotValue& slot = slots[static_cast<size_t>(at)] = {context.output(i), nullptr, true};
    indices[static_cast<size_t>(at)] = at;
    if (IsSubByte(slot.tensor.dtype)) ONWARD_RETURN_IF_ERROR(GiveBytes(context, slot.tensor));
  }
  const absl::Span<const int32_t> all = indices;
  RunContext unpacked(slots.data(), all.first(static_cast<size_t>(num_inputs)),
                      all.subspan(static_cast<size_t>(num_inputs)), context.raw_state(),
                      context.scratch<void>(), context.pool(), context.services());
  ONWARD_RETURN_IF_ERROR(inner_->Run(unpacked));
  for (int i = 0; i < num_outputs; ++i) {
    if (!context.has_output(i) || !IsSubByte(context.output(i).dtype)) continue;
    const TensorView& bytes = unpacked.output(i);
    PackSubByte(bytes.dtype, bytes.as<int8_t>(), bytes.num_elements(), context.output(i).data);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> WithUnpackedElements(
    absl::StatusOr<std::unique_ptr<Kernel>> inner) {
  if (!inner.ok()) return inner;
  return std::make_unique<UnpackedElements>(*std::move(inner));
}

}  // namespace onward::kernels::cpu
