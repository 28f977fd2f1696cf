// Trilu and ReverseSequence: parts of rows are kept, the rest cleared or turned around.
#include "kernels/bind/trilu.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/bind/reverse_sequence.h"
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
    return BindReverseSequence(context, batch_axis_, time_axis_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<ReverseSequencePlan>();
    for (int64_t b = 0; b < plan.batch; ++b) {
      if (const int64_t length = context.in<int64_t>(1)[b]; length < 0 || length > plan.steps) {
        return absl::InvalidArgumentError(
            absl::StrCat("sequence_lens[", b, "] is ", length, ", the time axis has ", plan.steps));
      }
    }
    if (context.input(0).num_elements() == 0) return absl::OkStatus();
    DispatchElement(context.input(0).dtype,
                    [&](auto tag) { Reverse<typename decltype(tag)::type>(context, plan); });
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static void Reverse(RunContext& context, const ReverseSequencePlan& plan) {
    const int64_t inner = plan.inner;
    const int64_t* lengths = context.in<int64_t>(1);
    const T* in = context.in<T>(0);
    T* out = context.out<T>(0);
    context.ParallelFor(
        context.input(0).num_elements() / inner, std::max<int64_t>(1, CopyGrain<T>() / inner),
        [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t length = lengths[row / plan.batch_stride % plan.batch];
            const int64_t step = row / plan.time_stride % plan.steps;
            const int64_t source =
                step < length ? row + (length - 1 - 2 * step) * plan.time_stride : row;
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
