// TopK.
#include "kernels/bind/topk.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

using TopKTypes = NumericTypes;

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
    ONWARD_ASSIGN_OR_RETURN(const TopKPlan* plan, BindTopK(context, axis_));
    if (plan == nullptr) return absl::OkStatus();
    context.SetScratch(static_cast<int64_t>(sizeof(Candidate<T>)) * plan->dim *
                       context.num_workers());
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<TopKPlan>();
    if (state.k == 0) return absl::OkStatus();
    auto* scratch = context.scratch<Candidate<T>>();
    const int64_t grain = std::max<int64_t>(1, 4096 / state.dim);
    context.ParallelForWorkers(state.lines(), grain, [&](int worker, int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line)
        SelectLine(context, state, line, scratch + worker * state.dim);
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kBlock = 16;
  // Whether no element of a block comes before a candidate of this value and a lower index; false
  // as well where a NaN takes part.
  static bool NoneBefore(const T* x, T worst) {
    if constexpr (std::is_arithmetic_v<T>) {
      typedef T Vector __attribute__((vector_size(16)));
      constexpr int64_t kLanes = 16 / sizeof(T);
      const Vector bound = Vector{} + worst;
      auto fits = bound == bound;
      for (int64_t i = 0; i < kBlock; i += kLanes) {
        Vector v;
        std::memcpy(&v, x + i, sizeof(v));
        fits &= kLargest ? v <= bound : v >= bound;
      }
      uint64_t halves[2];
      std::memcpy(halves, &fits, sizeof(fits));
      return (halves[0] & halves[1]) == ~uint64_t{0};
    } else {
      const auto bound = static_cast<float>(worst);
      int fits = 1;
      for (int64_t i = 0; i < kBlock; ++i) {
        const auto value = static_cast<float>(x[i]);
        fits &= kLargest ? value <= bound : value >= bound;
      }
      return fits != 0;
    }
  }
  // Calls take(candidate) for each element of a line that may be among the best: until `worst` is
  // set for all, then for those that come before it. Of equal values the earlier one stays.
  template <typename Take>
  static void ForEachContender(const T* in, const TopKPlan& state,
                               const std::optional<Candidate<T>>& worst, const Take& take) {
    for (int64_t j = 0; j < state.dim;) {
      const int64_t end = std::min(state.dim, j + kBlock);
      if (worst && state.inner == 1 && end - j == kBlock && NoneBefore(in + j, worst->value)) {
        j = end;
        continue;
      }
      for (; j < end; ++j) {
        const Candidate<T> candidate = {in[j * state.inner], j};
        if (worst && (kLargest ? candidate.value <= worst->value : candidate.value >= worst->value))
          continue;
        if (worst && !Before<T, kLargest>(candidate, *worst)) continue;
        take(candidate);
      }
    }
  }
  // Leaves the first k of all in candidates[0, k). Gathers the elements that may be among them; a
  // full list is cut to its best k, and few later elements come before the worst of those.
  static void SelectFew(const T* in, const TopKPlan& state, Candidate<T>* candidates) {
    const int64_t room = std::min(state.dim, 4 * state.k);
    int64_t count = 0;
    std::optional<Candidate<T>> worst;
    const auto keep_best = [&] {
      std::nth_element(candidates, candidates + state.k - 1, candidates + count,
                       Before<T, kLargest>);
      worst = candidates[state.k - 1];
      count = state.k;
    };
    ForEachContender(in, state, worst, [&](const Candidate<T>& candidate) {
      candidates[count++] = candidate;
      if (count == room) keep_best();
    });
    keep_best();
  }
  // The same of a k that a sorted list serves best. They are in order.
  static constexpr int64_t kShortList = 16;
  static void SelectSorted(const T* in, const TopKPlan& state, Candidate<T>* best) {
    int64_t count = 0;
    std::optional<Candidate<T>> worst;
    ForEachContender(in, state, worst, [&](const Candidate<T>& candidate) {
      int64_t place = worst ? count - 1 : count++;
      for (; place > 0 && Before<T, kLargest>(candidate, best[place - 1]); --place)
        best[place] = best[place - 1];
      best[place] = candidate;
      if (count == state.k) worst = best[count - 1];
    });
  }
  static void SelectLine(const RunContext& context, const TopKPlan& state, int64_t line,
                         Candidate<T>* candidates) {
    const int64_t o = line / state.inner, i = line % state.inner;
    const T* in = context.in<T>(0) + o * state.dim * state.inner + i;
    const auto before = Before<T, kLargest>;
    const bool few = state.k * 8 < state.dim, sorted = few && state.k <= kShortList;
    if (sorted) {
      SelectSorted(in, state, candidates);
    } else if (few) {
      SelectFew(in, state, candidates);
    } else {
      for (int64_t j = 0; j < state.dim; ++j) candidates[j] = {in[j * state.inner], j};
      if (state.k < state.dim)
        std::nth_element(candidates, candidates + state.k - 1, candidates + state.dim, before);
    }
    if (!sorted) std::sort(candidates, candidates + state.k, before);
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

}  // namespace onward::kernels::cpu
