// Trilu and ReverseSequence: parts of rows are kept, the rest cleared or turned around.
#include "kernels/bind/trilu.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

class Trilu : public Kernel {
 public:
  explicit Trilu(bool upper) : upper_(upper) {}
  absl::Status Bind(BindContext& context) const override { return BindTrilu(context); }
  absl::Status Run(RunContext& context) const override {
    const DimsView dims = context.input(0).dims;
    const int64_t rows = dims[dims.size() - 2], columns = dims.back();
    const int64_t k = TriluDiagonal(context);
    DispatchElement(context.input(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* in = context.in<T>(0);
      T* out = context.out<T>(0);
      const int64_t grain = std::max<int64_t>(1, CopyGrain<T>() / std::max<int64_t>(1, columns));
      const int64_t count = columns == 0 ? 0 : NumElements(dims) / columns;
      context.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          // Upper keeps columns [edge, columns), lower [0, edge).
          const int64_t diagonal = r % rows + k + (upper_ ? 0 : 1);
          const int64_t edge = std::clamp<int64_t>(diagonal, 0, columns);
          const int64_t first = r * columns, keep = first + (upper_ ? edge : 0);
          if (in != out) CopyRun(in + keep, upper_ ? columns - edge : edge, out + keep);
          std::fill(out + first + (upper_ ? 0 : edge), out + first + (upper_ ? edge : columns),
                    T());
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  bool upper_;
};

class ReverseSequence : public Kernel {
 public:
  ReverseSequence(int64_t batch_axis, int64_t time_axis)
      : batch_axis_(batch_axis), time_axis_(time_axis) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    const auto rank = static_cast<int64_t>(dims.size());
    if (rank < 2) return absl::InvalidArgumentError(absl::StrCat("the input has rank ", rank));
    auto* axes = context.NewState<Axes>();
    ONWARD_ASSIGN_OR_RETURN(axes->batch, NormalizeAxis(batch_axis_, rank));
    ONWARD_ASSIGN_OR_RETURN(axes->time, NormalizeAxis(time_axis_, rank));
    if (axes->batch == axes->time)
      return absl::InvalidArgumentError("batch_axis and time_axis are the same axis");
    const DimsView lengths = context.input_dims(1);
    if (lengths.size() != 1 || lengths[0] != dims[static_cast<size_t>(axes->batch)]) {
      return absl::InvalidArgumentError(absl::StrCat("sequence_lens has shape ",
                                                     DimsString(lengths), " for an input of shape ",
                                                     DimsString(dims)));
    }
    context.SetOutput(0, dims);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& axes = context.state<Axes>();
    const DimsView dims = context.input(0).dims;
    const int64_t batch = dims[static_cast<size_t>(axes.batch)];
    const int64_t steps = dims[static_cast<size_t>(axes.time)];
    for (int64_t b = 0; b < batch; ++b) {
      if (const int64_t length = context.in<int64_t>(1)[b]; length < 0 || length > steps) {
        return absl::InvalidArgumentError(
            absl::StrCat("sequence_lens[", b, "] is ", length, ", the time axis has ", steps));
      }
    }
    DispatchElement(context.input(0).dtype, [&](auto tag) {
      Reverse<typename decltype(tag)::type>(context, axes.batch, axes.time);
    });
    return absl::OkStatus();
  }

 private:
  struct Axes {
    int64_t batch = 0, time = 1;
  };
  template <typename T>
  static void Reverse(RunContext& context, int64_t batch_axis, int64_t time_axis) {
    const DimsView dims = context.input(0).dims;
    const auto rank = static_cast<int64_t>(dims.size());
    const int64_t later = std::max(batch_axis, time_axis);
    const int64_t inner = NumElements(dims, later + 1, rank);
    const int64_t batch = dims[static_cast<size_t>(batch_axis)];
    const int64_t steps = dims[static_cast<size_t>(time_axis)];
    const int64_t batch_stride =
        NumElements(dims, batch_axis + 1, rank) / std::max<int64_t>(1, inner);
    const int64_t time_stride =
        NumElements(dims, time_axis + 1, rank) / std::max<int64_t>(1, inner);
    const int64_t* lengths = context.in<int64_t>(1);
    const T* in = context.in<T>(0);
    T* out = context.out<T>(0);
    if (inner == 0) return;
    context.ParallelFor(NumElements(dims) / inner, std::max<int64_t>(1, CopyGrain<T>() / inner),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t row = begin; row < end; ++row) {
                            const int64_t length = lengths[row / batch_stride % batch];
                            const int64_t step = row / time_stride % steps;
                            const int64_t source =
                                step < length ? row + (length - 1 - 2 * step) * time_stride : row;
                            CopyRun(in + source * inner, inner, out + row * inner);
                          }
                        });
  }
  int64_t batch_axis_, time_axis_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeTrilu(const NodeSpec& spec) {
  return std::make_unique<Trilu>(spec.attributes().Int("upper", 1) != 0);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeReverseSequence(const NodeSpec& spec) {
  return std::make_unique<ReverseSequence>(spec.attributes().Int("batch_axis", 1),
                                           spec.attributes().Int("time_axis", 0));
}

constexpr KernelEntry kKernels[] = {
    {"", "Trilu", "trilu_reference", MakeTrilu},
    {"", "ReverseSequence", "reverse_sequence_reference", MakeReverseSequence},
};

}  // namespace

KernelList ReferenceTrilu() { return kKernels; }

}  // namespace onward::kernels::cpu
