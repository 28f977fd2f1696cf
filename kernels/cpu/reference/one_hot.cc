// OneHot.
#include "kernels/bind/one_hot.h"

#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

using IndexTypes = Concat<FloatTypes, IntegerTypes>;

using ReadIndex = int64_t (*)(const void* data, int64_t i);

template <typename T>
int64_t ReadAs(const void* data, int64_t i) {
  return OneHotIndex(static_cast<ComputeType<T>>(static_cast<const T*>(data)[i]));
}

ReadIndex ReaderOf(DType dtype) {
  ReadIndex read = nullptr;
  DispatchDType(IndexTypes(), dtype,
                [&](auto tag) { read = ReadAs<typename decltype(tag)::type>; });
  return read;
}

class OneHot : public Kernel {
 public:
  OneHot(int64_t axis, ReadIndex index) : axis_(axis), read_index_(index) {}
  absl::Status Bind(BindContext& context) const override { return BindOneHot(context, axis_); }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<OneHotPlan>();
    const int64_t total = context.output(0).num_elements();
    if (total == 0) return absl::OkStatus();
    DispatchElement(context.output(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* values = context.in<T>(2);
      T* out = context.out<T>(0);
      const int64_t rows = total / state.inner;
      const int64_t grain = std::max<int64_t>(1, CopyGrain<T>() / state.inner);
      context.ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
        std::fill(out + begin * state.inner, out + end * state.inner, values[0]);
        for (int64_t row = begin; row < end;) {
          const int64_t outer = row / state.depth, first = row % state.depth;
          const int64_t last = std::min(first + end - row, state.depth);
          T* block = out + outer * state.depth * state.inner;
          for (int64_t i = 0; i < state.inner; ++i) {
            const int64_t raw = read_index_(context.input(0).data, outer * state.inner + i);
            // An index out of range leaves all off, says the standard.
            const int64_t index = raw < 0 ? raw + state.depth : raw;
            if (index >= first && index < last) block[index * state.inner + i] = values[1];
          }
          row += last - first;
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  int64_t axis_;
  ReadIndex read_index_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeOneHot(const NodeSpec& spec) {
  const ReadIndex index = ReaderOf(spec.input_dtype(0));
  if (index == nullptr || ReaderOf(spec.input_dtype(1)) == nullptr)
    return absl::UnimplementedError("dtype");
  return std::make_unique<OneHot>(spec.attributes().Int("axis", -1), index);
}

constexpr KernelEntry kKernels[] = {
    {"", "OneHot", "one_hot_reference", MakeOneHot},
};

}  // namespace

KernelList ReferenceOneHot() { return kKernels; }

}  // namespace onward::kernels::cpu
