// Concat and Split: rows of several tensors side by side in one.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

// Part i has elements [ends[i - 1], ends[i]) of each of the `rows` rows of the whole tensor.
struct Parts {
  int64_t rows = 0;
  int64_t row = 0;  // elements
  int64_t count = 0;
  const int64_t* ends = nullptr;
};

// Calls move(part, part's offset, whole's offset, count) for the runs that make up elements
// [begin, end) of the whole.
template <typename Move>
void ForEachRun(const Parts& parts, int64_t begin, int64_t end, const Move& move) {
  int64_t row = begin / parts.row, at = begin % parts.row;
  int64_t part = std::upper_bound(parts.ends, parts.ends + parts.count, at) - parts.ends;
  for (int64_t position = begin; position < end;) {
    const int64_t start = part == 0 ? 0 : parts.ends[part - 1];
    const int64_t run = std::min(parts.ends[part] - at, end - position);
    if (run > 0) move(part, row * (parts.ends[part] - start) + at - start, position, run);
    position += run;
    at += run;
    if (at < parts.ends[part]) continue;
    if (++part < parts.count) continue;
    part = 0, at = 0, ++row;
  }
}

class ConcatInputs : public Kernel {
 public:
  explicit ConcatInputs(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView first = context.input_dims(0);
    ONWARD_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(axis_, static_cast<int64_t>(first.size())));
    const int count = context.num_inputs();
    auto* parts = context.NewState<Parts>();
    auto* ends = context.NewArray<int64_t>(count);
    Dims out(first.begin(), first.end());
    int64_t& total = out[static_cast<size_t>(axis)] = 0;
    for (int i = 0; i < count; ++i) {
      const DimsView dims = context.input_dims(i);
      bool fits = dims.size() == first.size();
      for (size_t d = 0; fits && d < dims.size(); ++d)
        fits = d == static_cast<size_t>(axis) || dims[d] == first[d];
      if (!fits) return DoesNotFit(i, dims, first, axis);
      total += dims[static_cast<size_t>(axis)];
      ends[i] = total;
    }
    const int64_t inner = NumElements(out, axis + 1, static_cast<int64_t>(out.size()));
    for (int i = 0; i < count; ++i) ends[i] *= inner;
    *parts = {NumElements(out, 0, axis), total * inner, count, ends};
    context.SetOutput(0, out);
    if (count == 1) context.AliasOutput(0, 0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    if (context.input(0).data == context.output(0).data) return absl::OkStatus();
    const auto& parts = context.state<Parts>();
    DispatchElement(context.output(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* out = context.out<T>(0);
      context.ParallelFor(parts.rows * parts.row, CopyGrain<T>(), [&](int64_t begin, int64_t end) {
        ForEachRun(parts, begin, end, [&](int64_t part, int64_t from, int64_t to, int64_t run) {
          CopyRun(context.in<T>(static_cast<int>(part)) + from, run, out + to);
        });
      });
    });
    return absl::OkStatus();
  }

 private:
  static absl::Status DoesNotFit(int i, DimsView dims, DimsView first, int64_t axis) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " of shape ", DimsString(dims),
                                                   " does not fit input 0 of shape ",
                                                   DimsString(first), " along axis ", axis));
  }
  int64_t axis_;
};

class Split : public Kernel {
 public:
  explicit Split(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    ONWARD_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(axis_, static_cast<int64_t>(dims.size())));
    const TensorView* sizes = nullptr;
    if (context.has_input(1)) {
      sizes = context.input_value(1);
      if (sizes == nullptr) return context.Defer();
    }
    const int64_t dim = dims[static_cast<size_t>(axis)];
    const int64_t inner = NumElements(dims, axis + 1, static_cast<int64_t>(dims.size()));
    const int64_t count = context.num_outputs();
    auto* parts = context.NewState<Parts>();
    auto* ends = context.NewArray<int64_t>(count);
    ONWARD_RETURN_IF_ERROR(PartEnds(sizes, dim, count, ends));
    Dims out(dims.begin(), dims.end());
    for (int i = 0; i < count; ++i) {
      out[static_cast<size_t>(axis)] = ends[i] - (i == 0 ? 0 : ends[i - 1]);
      context.SetOutput(i, out);
    }
    for (int i = 0; i < count; ++i) ends[i] *= inner;
    *parts = {NumElements(dims, 0, axis), dim * inner, count, ends};
    if (count == 1) context.AliasOutput(0, 0);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& parts = context.state<Parts>();
    if (parts.count == 1 && context.has_output(0) &&
        context.input(0).data == context.output(0).data) {
      return absl::OkStatus();
    }
    DispatchElement(context.input(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* in = context.in<T>(0);
      context.ParallelFor(parts.rows * parts.row, CopyGrain<T>(), [&](int64_t begin, int64_t end) {
        ForEachRun(parts, begin, end, [&](int64_t part, int64_t to, int64_t from, int64_t run) {
          const int output = static_cast<int>(part);
          if (context.has_output(output)) CopyRun(in + from, run, context.out<T>(output) + to);
        });
      });
    });
    return absl::OkStatus();
  }

 private:
  // Without sizes the axis is cut evenly, the last part smaller.
  static absl::Status PartEnds(const TensorView* sizes, int64_t dim, int64_t count, int64_t* ends) {
    if (sizes == nullptr) {
      const int64_t part = (dim + count - 1) / count;
      for (int64_t i = 0; i < count; ++i) ends[i] = std::min(dim, (i + 1) * part);
      return absl::OkStatus();
    }
    if (sizes->num_elements() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("split has ", sizes->num_elements(), " sizes for ", count, " outputs"));
    }
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t size = sizes->as<int64_t>()[i];
      if (size < 0 || size > dim - total) return SumIsWrong(*sizes, dim);
      ends[i] = total += size;
    }
    return total == dim ? absl::OkStatus() : SumIsWrong(*sizes, dim);
  }
  static absl::Status SumIsWrong(const TensorView& sizes, int64_t dim) {
    return absl::InvalidArgumentError(absl::StrCat("split ", DimsString(sizes.span<int64_t>()),
                                                   " does not sum to the axis's size ", dim));
  }
  int64_t axis_;
};

Made MakeConcat(const NodeSpec& spec) {
  return std::make_unique<ConcatInputs>(spec.attributes().Int("axis", 0));
}

Made MakeSplit(const NodeSpec& spec) {
  const int64_t parts = spec.attributes().Int("num_outputs", spec.num_outputs());
  if (parts != spec.num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_outputs is ", parts, ", the node has ", spec.num_outputs(), " outputs"));
  }
  return std::make_unique<Split>(spec.attributes().Int("axis", 0));
}

constexpr KernelEntry kKernels[] = {
    {"", "Concat", "concat_reference", MakeConcat},
    {"", "Split", "split_reference", MakeSplit},
};

}  // namespace

KernelList ReferenceConcat() { return kKernels; }

}  // namespace onward::cpu
