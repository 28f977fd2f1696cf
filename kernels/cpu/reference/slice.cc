// Slice.
#include "absl/strings/str_cat.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/strided_copy.h"
#include "onward/shape.h"

namespace onward::cpu {
namespace {

struct State {
  StridedCopy copy;
  int64_t offset = 0;  // bytes from the input's start to the first element taken
};

class Slice : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    const TensorView* values[5] = {};
    for (int i = 1; i < 5; ++i) {
      if (!context.has_input(i)) continue;
      values[i] = context.input_value(i);
      if (values[i] == nullptr) return context.Defer();
    }
    const int64_t count = values[1]->num_elements();
    for (int i = 2; i < 5; ++i) {
      if (values[i] != nullptr && values[i]->num_elements() != count) {
        return absl::InvalidArgumentError(absl::StrCat(
            "input ", i, " has ", values[i]->num_elements(), " elements, starts has ", count));
      }
    }
    const DimsView dims = context.input_dims(0);
    const auto rank = static_cast<int64_t>(dims.size());
    if (count > rank)
      return absl::InvalidArgumentError(absl::StrCat(count, " starts for rank ", rank));
    Dims out(dims.begin(), dims.end()), strides = Strides(dims);
    int64_t offset = 0;
    uint64_t seen = 0;
    for (int64_t i = 0; i < count; ++i) {
      int64_t axis = i;
      if (values[3] != nullptr) {
        ONWARD_ASSIGN_OR_RETURN(axis, NormalizeAxis(IndexAt(*values[3], i), rank));
        if (axis < 64 && (seen >> axis & 1) != 0)
          return absl::InvalidArgumentError(absl::StrCat("axes: ", axis, " is given twice"));
        if (axis < 64) seen |= uint64_t{1} << axis;
      }
      const int64_t step = values[4] == nullptr ? 1 : IndexAt(*values[4], i);
      if (step == 0)
        return absl::InvalidArgumentError(absl::StrCat("the step of axis ", axis, " is 0"));
      const auto a = static_cast<size_t>(axis);
      const int64_t start = Cut(IndexAt(*values[1], i), IndexAt(*values[2], i), step, out[a]);
      offset += start * strides[a];
      strides[a] = out[a] > 1 ? strides[a] * step : strides[a];
    }
    auto* state = context.NewState<State>();
    state->copy = PlanStridedCopy(context, context.input_dtype(0), out, strides, Strides(out));
    state->offset = offset * ElementStride(context.input_dtype(0));
    const bool whole = NumElements(out) == NumElements(dims) && state->copy.flat;
    context.SetOutput(0, out);
    if (whole && offset == 0) context.AliasOutput(0, 0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<State>();
    if (state.copy.units == 0) return absl::OkStatus();
    RunStridedCopy(context, state.copy, context.in<char>(0) + state.offset, context.output(0).data);
    return absl::OkStatus();
  }

 private:
  // Clamps as the standard does, sets `dim` to the number of elements taken and returns the first.
  static int64_t Cut(int64_t start, int64_t end, int64_t step, int64_t& dim) {
    if (start < 0) start += dim;
    if (end < 0) end += dim;
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? dim - 1 : dim;
    start = std::clamp(start, step < 0 ? std::min<int64_t>(0, high) : low, std::max(low, high));
    end = std::clamp(end, low, std::max(low, high));
    const int64_t span = step < 0 ? start - end : end - start;
    if (dim == 0 || span <= 0) return dim = 0;
    // |step| as unsigned: the smallest int64 has no positive counterpart.
    const uint64_t stride =
        step < 0 ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
    dim = static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride) + 1;
    return start;
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

}  // namespace onward::cpu
