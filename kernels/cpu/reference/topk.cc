// TopK.
#include "kernels/bind/topk.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/cpu/kernel_list.h"
#include "kernels/topk_key.h"

namespace onward::kernels::cpu {
namespace {

using TopKTypes = NumericTypes;

// An element of a line, whose index is below 2^32; the smaller one comes first. Ties go to the
// lower index.
template <typename T, bool kLargest>
class Candidate {
  using Key = TopKKey<ComputeType<T>>;
  // One number where it has the bits.
  using Rank = std::conditional_t<sizeof(Key) == 4, uint64_t, std::pair<Key, uint32_t>>;

 public:
  Candidate() = default;
  Candidate(T element, int64_t index) {
    const Key order = ~TopKKeyOf<kLargest>(static_cast<ComputeType<T>>(element));
    const auto place = static_cast<uint32_t>(index);
    if constexpr (sizeof(Key) == 4) {
      rank_ = uint64_t{order} << 32 | place;
    } else {
      rank_ = {order, place};
    }
  }
  int64_t index() const {
    if constexpr (sizeof(Key) == 4) {
      return static_cast<int64_t>(rank_ & 0xffffffff);
    } else {
      return static_cast<int64_t>(rank_.second);
    }
  }
  friend bool operator<(const Candidate& a, const Candidate& b) { return a.rank_ < b.rank_; }

 private:
  Rank rank_;
};

template <typename T, bool kLargest>
class TopK : public Kernel {
  using Element = Candidate<T, kLargest>;

 public:
  explicit TopK(int64_t axis) : axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const TopKPlan* plan, BindTopK(context, axis_));
    if (plan == nullptr) return absl::OkStatus();
    if (plan->dim > std::numeric_limits<uint32_t>::max())
      return absl::UnimplementedError("TopK of an axis of more than 2^32 - 1 elements");
    context.SetScratch(static_cast<int64_t>(sizeof(Element)) * plan->dim * context.num_workers());
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& state = context.state<TopKPlan>();
    if (state.k == 0) return absl::OkStatus();
    auto* scratch = context.scratch<Element>();
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
  // The last of the best so far, once there are k of them.
  struct Last {
    bool known = false;
    T value = T();
    Element element;

    void Set(const T* in, const TopKPlan& state, const Element& last) {
      *this = {true, in[last.index() * state.inner], last};
    }
  };
  // Calls take(element) for each element of a line that may be among the best: until `last` is
  // known for all, then for those that come before it.
  template <typename Take>
  static void ForEachContender(const T* in, const TopKPlan& state, const Last& last,
                               const Take& take) {
    for (int64_t j = 0; j < state.dim;) {
      const int64_t end = std::min(state.dim, j + kBlock);
      if (last.known && state.inner == 1 && end - j == kBlock && NoneBefore(in + j, last.value)) {
        j = end;
        continue;
      }
      for (; j < end; ++j) {
        const T value = in[j * state.inner];
        // An equal value that comes later does not replace the last one.
        if (last.known && (kLargest ? value <= last.value : value >= last.value)) continue;
        const Element element(value, j);
        if (!last.known || element < last.element) take(element);
      }
    }
  }
  // Leaves the first k of all in best[0, k). Gathers the elements that may be among them; a full
  // list is cut to its best k, and few later elements come before the last of those.
  static void SelectFew(const T* in, const TopKPlan& state, Element* best) {
    const int64_t room = std::min(state.dim, 4 * state.k);
    int64_t count = 0;
    Last last;
    const auto keep_best = [&] {
      std::nth_element(best, best + state.k - 1, best + count);
      last.Set(in, state, best[state.k - 1]);
      count = state.k;
    };
    ForEachContender(in, state, last, [&](const Element& element) {
      best[count++] = element;
      if (count == room) keep_best();
    });
    keep_best();
  }
  // The same of a k that a sorted list serves best. They are in order.
  static constexpr int64_t kShortList = 16;
  static void SelectSorted(const T* in, const TopKPlan& state, Element* best) {
    int64_t count = 0;
    Last last;
    ForEachContender(in, state, last, [&](const Element& element) {
      int64_t place = last.known ? count - 1 : count++;
      for (; place > 0 && element < best[place - 1]; --place) best[place] = best[place - 1];
      best[place] = element;
      if (count == state.k) last.Set(in, state, best[count - 1]);
    });
  }
  static void SelectLine(const RunContext& context, const TopKPlan& state, int64_t line,
                         Element* best) {
    const int64_t o = line / state.inner, i = line % state.inner;
    const T* in = context.in<T>(0) + o * state.dim * state.inner + i;
    const bool few = state.k * 8 < state.dim, sorted = few && state.k <= kShortList;
    if (sorted) {
      SelectSorted(in, state, best);
    } else if (few) {
      SelectFew(in, state, best);
    } else {
      for (int64_t j = 0; j < state.dim; ++j) best[j] = Element(in[j * state.inner], j);
      if (state.k < state.dim) std::nth_element(best, best + state.k - 1, best + state.dim);
    }
    if (!sorted) std::sort(best, best + state.k);
    const int64_t first = o * state.k * state.inner + i;
    for (int64_t j = 0; j < state.k; ++j) {
      const int64_t at = first + j * state.inner, index = best[j].index();
      if (context.has_output(0)) context.out<T>(0)[at] = in[index * state.inner];
      if (context.has_output(1)) context.out<int64_t>(1)[at] = index;
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
