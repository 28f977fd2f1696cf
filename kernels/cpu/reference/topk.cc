// TopK.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/shape.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/elementwise_functors.h"

namespace onward::cpu {
namespace {

using TopKTypes = NumericTypes;

struct State {
  int64_t outer = 0, dim = 0, inner = 0, k = 0;
};

template <typename T>
struct Candidate {
  T value;
  int64_t index;
};

// Whether a comes before b. NaN counts as the greatest value, so that the order is total; ties go
// to the lower index.
template <typename T, bool kLargest>
bool Before(const Candidate<T>& a, const Candidate<T>& b) {
  if constexpr (!std::is_integral_v<T>) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan || b_nan) {
      if (a_nan && b_nan) return a.index < b.index;
      return kLargest ? a_nan : b_nan;
    }
  }
  if (a.value != b.value) return kLargest ? a.value > b.value : a.value < b.value;
  return a.index < b.index;
}

template <typename T, bool kLargest>
class TopK : public Kernel {
 public:
  explicit TopK(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    const TensorView* k = context.input_value(1);
    if (k == nullptr) return context.Defer();
    const DimsView dims = context.input_dims(0);
    ONWARD_ASSIGN_OR_RETURN(const int64_t axis,
                            NormalizeAxis(axis_, static_cast<int64_t>(dims.size())));
    const int64_t dim = dims[static_cast<size_t>(axis)];
    const int64_t count = k->num_elements() == 1 ? *k->as<int64_t>() : -1;
    if (count < 0 || count > dim) {
      return absl::InvalidArgumentError(
          absl::StrCat("K is ", count, ", axis ", axis, " has size ", dim));
    }
    Dims out(dims.begin(), dims.end());
    out[static_cast<size_t>(axis)] = count;
    context.SetOutput(0, out);
    context.SetOutput(1, out);
    *context.NewState<State>() = {NumElements(dims, 0, axis), dim,
                                  NumElements(dims, axis + 1, static_cast<int64_t>(dims.size())),
                                  count};
    context.SetScratch(static_cast<int64_t>(sizeof(Candidate<T>)) * dim * context.num_workers());
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<State>();
    if (state.k == 0) return absl::OkStatus();
    auto* scratch = context.scratch<Candidate<T>>();
    const int64_t grain = std::max<int64_t>(1, 4096 / state.dim);
    context.ParallelForWorkers(state.outer * state.inner, grain,
                               [&](int worker, int64_t begin, int64_t end) {
                                 for (int64_t line = begin; line < end; ++line)
                                   SelectLine(context, state, line, scratch + worker * state.dim);
                               });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kBlock = 32;
  // Whether no element of a block comes before a candidate of this value and a lower index. Without
  // a branch, so that the loop vectorises; false as well where a NaN takes part.
  static bool NoneBefore(const T* x, T worst) {
    using C = ComputeType<T>;
    const C bound = static_cast<C>(worst);
    int fits = 1;
    for (int64_t i = 0; i < kBlock; ++i) {
      const C value = static_cast<C>(x[i]);
      fits &= kLargest ? value <= bound : value >= bound;
    }
    return fits != 0;
  }
  static void SelectLine(const RunContext& context, const State& state, int64_t line,
                         Candidate<T>* candidates) {
    const int64_t o = line / state.inner, i = line % state.inner;
    const T* in = context.in<T>(0) + o * state.dim * state.inner + i;
    const auto before = Before<T, kLargest>;
    if (state.k * 8 < state.dim) {
      // The worst of the best k so far stands at the heap's top; few elements get past it.
      int64_t count = 0;
      for (int64_t j = 0; j < state.dim; ++j) {
        while (count == state.k && state.inner == 1 && j + kBlock <= state.dim &&
               NoneBefore(in + j, candidates[0].value)) {
          j += kBlock;
        }
        if (j == state.dim) break;
        const Candidate<T> candidate = {in[j * state.inner], j};
        if (count < state.k) {
          candidates[count++] = candidate;
          if (count == state.k) std::make_heap(candidates, candidates + count, before);
        } else if (before(candidate, candidates[0])) {
          std::pop_heap(candidates, candidates + count, before);
          candidates[count - 1] = candidate;
          std::push_heap(candidates, candidates + count, before);
        }
      }
    } else {
      for (int64_t j = 0; j < state.dim; ++j) candidates[j] = {in[j * state.inner], j};
      if (state.k < state.dim)
        std::nth_element(candidates, candidates + state.k - 1, candidates + state.dim, before);
    }
    std::sort(candidates, candidates + state.k, before);
    const int64_t first = o * state.k * state.inner + i;
    for (int64_t j = 0; j < state.k; ++j) {
      const int64_t at = first + j * state.inner;
      if (context.has_output(0)) context.out<T>(0)[at] = candidates[j].value;
      if (context.has_output(1)) context.out<int64_t>(1)[at] = candidates[j].index;
    }
  }
  int64_t axis_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeTopK(const NodeSpec& spec) {
  const int64_t axis = spec.attributes().Int("axis", -1);
  const bool largest = spec.attributes().Int("largest", 1) != 0;
  std::unique_ptr<Kernel> made;
  DispatchDType(TopKTypes(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (largest) {
      made = std::make_unique<TopK<T, true>>(axis);
    } else {
      made = std::make_unique<TopK<T, false>>(axis);
    }
  });
  if (made == nullptr) return absl::UnimplementedError("dtype");
  return made;
}

constexpr KernelEntry kKernels[] = {
    {"", "TopK", "topk_reference", MakeTopK},
};

}  // namespace

KernelList ReferenceTopK() { return kKernels; }

}  // namespace onward::cpu
