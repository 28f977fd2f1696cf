// Slice.
#include "kernels/bind/slice.h"

#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/strided_copy.h"
#include "onward/status.h"

namespace onward::kernels::cpu {
namespace {

struct State {
  StridedCopy copy;
  int64_t offset = 0;  // bytes from the input's start to the first element taken
};

class Slice : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const std::optional<StridedView> view, SliceView(context));
    if (!view) return context.Defer();
    auto* state = context.NewState<State>();
    state->copy = PlanStridedCopy(context, context.input_dtype(0), view->dims, view->strides,
                                  Strides(view->dims));
    state->offset = view->offset * ElementStride(context.input_dtype(0));
    const bool whole =
        NumElements(view->output) == NumElements(context.input_dims(0)) && state->copy.flat;
    context.SetOutput(0, view->output);
    if (whole && view->offset == 0) context.AliasOutput(0, 0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<State>();
    if (state.copy.units == 0) return absl::OkStatus();
    RunStridedCopy(context, state.copy, context.in<char>(0) + state.offset, context.output(0).data);
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeSlice(const NodeSpec&) {
  return std::make_unique<Slice>();
}

constexpr KernelEntry kKernels[] = {
    {"", "Slice", "slice_reference", MakeSlice},
};

}  // namespace

KernelList ReferenceSlice() { return kKernels; }

}  // namespace onward::kernels::cpu
