// SplitToSequence and ConcatFromSequence.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/reference/at_run.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

// Copies `rows` runs of `run` elements between strides in elements.
void CopyRuns(DType dtype, const void* from, int64_t from_at, int64_t from_stride, void* to,
              int64_t to_at, int64_t to_stride, int64_t rows, int64_t run) {
  DispatchElement(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t r = 0; r < rows; ++r) {
      CopyRun(static_cast<const T*>(from) + from_at + r * from_stride, run,
              static_cast<T*>(to) + to_at + r * to_stride);
    }
  });
}

class SplitToSequence : public AtRun {
 public:
  SplitToSequence(int64_t axis, bool keep_dims) : axis_(axis), keep_dims_(keep_dims) {}
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    ONWARD_ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(axis_, in.rank()));
    const auto a = static_cast<size_t>(axis);
    const int64_t dim = in.dims[a];
    std::vector<int64_t> sizes(1, 1);
    bool even = true;  // parts of one size, the last maybe smaller
    if (context.has_input(1)) {
      sizes = ToInt64(context.input(1));
      even = context.input(1).rank() == 0;
    }
    if (even) {
      const int64_t size = sizes[0];
      if (size <= 0)
        return absl::InvalidArgumentError(absl::StrCat("split is ", size, ", must be at least 1"));
      sizes.assign(static_cast<size_t>(dim / size), size);
      if (dim % size != 0) sizes.push_back(dim % size);
    }
    int64_t rest = dim;
    for (const int64_t size : sizes) {
      if (size < 0 || size > rest) rest = -1;
      if (rest < 0) break;
      rest -= size;
    }
    if (rest != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("split ", DimsString(sizes), " does not sum to the axis's size ", dim));
    }
    const int64_t outer = NumElements(in.dims, 0, axis);
    const int64_t inner = NumElements(in.dims, axis + 1, in.rank());
    const bool drop = !keep_dims_ && !context.has_input(1);
    SequenceData sequence;
    int64_t at = 0;
    for (const int64_t size : sizes) {
      Dims dims(in.dims.begin(), in.dims.end());
      dims[a] = size;
      if (drop) dims.erase(dims.begin() + axis);
      ONWARD_ASSIGN_OR_RETURN(Tensor part, Tensor::Create(in.dtype, dims));
      CopyRuns(in.dtype, in.data, at * inner, dim * inner, part.raw_mutable_data(), 0, size * inner,
               outer, size * inner);
      sequence.push_back(Value(std::move(part)));
      at += size;
    }
    return context.SetOutput(0, Value(std::move(sequence)));
  }

 private:
  int64_t axis_;
  bool keep_dims_;
};

class ConcatFromSequence : public AtRun {
 public:
  ConcatFromSequence(int64_t axis, bool new_axis) : axis_(axis), new_axis_(new_axis) {}
  absl::Status Run(RunContext& context) const override {
    const Value* object = context.input_slot(0).object;
    if (object == nullptr || !object->is_sequence())
      return absl::InvalidArgumentError("the input is not a sequence");
    const SequenceData& sequence = object->sequence();
    if (sequence.empty()) return absl::InvalidArgumentError("the sequence is empty");
    const Tensor& first = sequence[0].tensor();
    ONWARD_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(axis_, first.rank() + (new_axis_ ? 1 : 0)));
    const auto a = static_cast<size_t>(axis);
    int64_t total = 0;
    for (size_t i = 0; i < sequence.size(); ++i) {
      const DimsView dims = sequence[i].tensor().dims();
      bool fits = dims.size() == first.dims().size();
      for (size_t d = 0; fits && d < dims.size(); ++d)
        fits = dims[d] == first.dims()[d] || (!new_axis_ && d == a);
      if (!fits) {
        return absl::InvalidArgumentError(
            absl::StrCat("element ", i, " of shape ", DimsString(dims),
                         " does not fit the first of shape ", DimsString(first.dims())));
      }
      total += new_axis_ ? 1 : dims[a];
    }
    Dims out(first.dims().begin(), first.dims().end());
    if (new_axis_) {
      out.insert(out.begin() + axis, total);
    } else {
      out[a] = total;
    }
    ONWARD_ASSIGN_OR_RETURN(const TensorView view, context.AllocateOutput(0, first.dtype(), out));
    const int64_t outer = NumElements(out, 0, axis);
    const int64_t inner = NumElements(out, axis + 1, static_cast<int64_t>(out.size()));
    int64_t at = 0;
    for (const Value& value : sequence) {
      const int64_t run = (new_axis_ ? 1 : value.tensor().dims()[a]) * inner;
      CopyRuns(first.dtype(), value.tensor().raw_data(), 0, run, view.data, at, total * inner,
               outer, run);
      at += run;
    }
    return absl::OkStatus();
  }

 private:
  int64_t axis_;
  bool new_axis_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeSplitToSequence(const NodeSpec& spec) {
  return std::make_unique<SplitToSequence>(spec.attributes().Int("axis", 0),
                                           spec.attributes().Int("keepdims", 1) != 0);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConcatFromSequence(const NodeSpec& spec) {
  return std::make_unique<ConcatFromSequence>(spec.attributes().Int("axis", 0),
                                              spec.attributes().Int("new_axis", 0) != 0);
}

constexpr KernelEntry kKernels[] = {
    {"", "SplitToSequence", "split_to_sequence_reference", MakeSplitToSequence},
    {"", "ConcatFromSequence", "concat_from_sequence_reference", MakeConcatFromSequence},
};

}  // namespace

KernelList ReferenceSplitSequence() { return kKernels; }

}  // namespace onward::kernels::cpu
