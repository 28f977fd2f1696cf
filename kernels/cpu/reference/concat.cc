// Concat and Split: rows of several tensors side by side in one.
#include "kernels/bind/concat.h"

#include <algorithm>

#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/status.h"

namespace onward::kernels::cpu {
namespace {

using Made = absl::StatusOr<std::unique_ptr<Kernel>>;

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
    return BindConcat(context, axis_, *context.NewState<Parts>());
  }
  absl::Status Run(RunContext& context) const override {
    const auto& parts = context.state<Parts>();
    // An empty part may lie where the output does.
    if (parts.count == 1 && context.input(0).data == context.output(0).data)
      return absl::OkStatus();
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
  int64_t axis_;
};

class Split : public Kernel {
 public:
  explicit Split(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    return BindSplit(context, axis_, *context.NewState<Parts>());
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
  int64_t axis_;
};

Made MakeConcat(const NodeSpec& spec) {
  return std::make_unique<ConcatInputs>(spec.attributes().Int("axis", 0));
}

Made MakeSplit(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckSplit(spec));
  return std::make_unique<Split>(spec.attributes().Int("axis", 0));
}

constexpr KernelEntry kKernels[] = {
    {"", "Concat", "concat_reference", MakeConcat},
    {"", "Split", "split_reference", MakeSplit},
};

}  // namespace

KernelList ReferenceConcat() { return kKernels; }

}  // namespace onward::kernels::cpu
