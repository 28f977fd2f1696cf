// OneHot.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using IndexTypes = Concat<FloatTypes, IntegerTypes>;

// Reads element i of a numeric tensor as an index; fractions are cut off and what no int64 holds
// becomes -1.
using ReadIndex = int64_t (*)(const void* data, int64_t i);

template <typename T>
int64_t ReadAs(const void* data, int64_t i) {
  const T value = static_cast<const T*>(data)[i];
  if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else {
    const auto number = static_cast<double>(value);
    return std::fabs(number) < 9e18 ? static_cast<int64_t>(number) : -1;
  }
}

ReadIndex ReaderOf(DType dtype) {
  ReadIndex read = nullptr;
  DispatchDType(IndexTypes(), dtype,
                [&](auto tag) { read = ReadAs<typename decltype(tag)::type>; });
  return read;
}

class OneHot : public Kernel {
 public:
  OneHot(int64_t axis, ReadIndex index, ReadIndex depth)
      : axis_(axis), read_index_(index), read_depth_(depth) {}
  absl::Status Bind(BindContext& context) const override {
    const TensorView* depth = context.input_value(1);
    if (depth == nullptr) return context.Defer();
    if (depth->num_elements() != 1 || NumElements(context.input_dims(2)) != 2)
      return absl::InvalidArgumentError("depth must have one element and values two");
    const int64_t count = read_depth_(depth->data, 0);
    if (count < 0)
      return absl::InvalidArgumentError(absl::StrCat("depth is ", count, ", must be at least 0"));
    const DimsView dims = context.input_dims(0);
    ONWARD_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(axis_, static_cast<int64_t>(dims.size()) + 1));
    Dims out(dims.begin(), dims.end());
    out.insert(out.begin() + axis, count);
    ONWARD_RETURN_IF_ERROR(CheckedByteSize(context.input_dtype(2), out).status());
    context.SetOutput(0, out);
    *context.NewState<State>() = {count,
                                  NumElements(dims, axis, static_cast<int64_t>(dims.size()))};
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<State>();
    const int64_t total = context.output(0).num_elements();
    if (total == 0) return absl::OkStatus();
    DispatchElement(context.output(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* values = context.in<T>(2);
      T* out = context.out<T>(0);
      const int64_t block = state.depth * state.inner;
      const int64_t grain = std::max<int64_t>(1, CopyGrain<T>() / block);
      context.ParallelFor(total / block, grain, [&](int64_t begin, int64_t end) {
        std::fill(out + begin * block, out + end * block, values[0]);
        for (int64_t i = begin * state.inner; i < end * state.inner; ++i) {
          const int64_t raw = read_index_(context.input(0).data, i);
          const int64_t index = raw < 0 ? raw + state.depth : raw;
          if (index < 0 || index >= state.depth) continue;  // all off, says the standard
          out[i / state.inner * block + index * state.inner + i % state.inner] = values[1];
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  struct State {
    int64_t depth = 0, inner = 0;
  };
  int64_t axis_;
  ReadIndex read_index_, read_depth_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeOneHot(const NodeSpec& spec) {
  const ReadIndex index = ReaderOf(spec.input_dtype(0)), depth = ReaderOf(spec.input_dtype(1));
  if (index == nullptr || depth == nullptr) return absl::UnimplementedError("dtype");
  return std::make_unique<OneHot>(spec.attributes().Int("axis", -1), index, depth);
}

constexpr KernelEntry kKernels[] = {
    {"", "OneHot", "one_hot_reference", MakeOneHot},
};

}  // namespace

KernelList ReferenceOneHot() { return kKernels; }

}  // namespace onward::kernels::cpu
