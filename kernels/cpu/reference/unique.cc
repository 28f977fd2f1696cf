// Unique.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

using UniqueTypes = Concat<NumericTypes, TypeList<bool, std::string>>;

// Slices of a tensor along an axis; all elements one by one when there is no axis.
template <typename T>
struct Slices {
  const T* data;
  int64_t outer, count, inner;

  // -1, 0 or 1 by the first element that differs. NaN equals itself and is the greatest.
  int Compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer; ++o) {
      const T* x = data + (o * count + a) * inner;
      const T* y = data + (o * count + b) * inner;
      for (int64_t i = 0; i < inner; ++i) {
        if (x[i] < y[i]) return -1;
        if (y[i] < x[i]) return 1;
        if constexpr (!std::is_same_v<T, std::string>) {
          const bool x_nan = x[i] != x[i], y_nan = y[i] != y[i];
          if (x_nan != y_nan) return y_nan ? -1 : 1;
        }
      }
    }
    return 0;
  }
};

// Distinct slices, each named by its first occurrence.
struct Groups {
  std::vector<int64_t> first;    // per group, in the output's order
  std::vector<int64_t> counts;   // likewise
  std::vector<int64_t> inverse;  // per slice its group
};

// Numbers one by one: an open-addressed table of groups finds each element's group in one pass, and
// only the distinct ones are sorted.
template <typename T>
class NumberTable {
 public:
  // The group of x[i], a new one if no equal element came before.
  static Groups Group(const T* x, int64_t count) {
    NumberTable table(x);
    table.groups_.inverse.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      table.groups_.inverse[static_cast<size_t>(i)] = table.Insert(i);
    return std::move(table.groups_);
  }

 private:
  explicit NumberTable(const T* x) : x_(x), places_(size_t{1} << 10, -1) {}

  // Equal numbers have equal hashes: -0 that of 0, all NaNs one.
  static uint64_t Hash(T value) {
    uint64_t bits = 0;
    if (value != value) {
      bits = ~uint64_t{0};
    } else if (value != T(0)) {
      std::memcpy(&bits, &value, sizeof(T));
    }
    bits *= 0x9e3779b97f4a7c15u;
    return bits ^ bits >> 32;
  }
  static bool Same(T a, T b) { return a == b || (a != a && b != b); }

  // The table's place of `value`: of its group, or the free one where it belongs.
  size_t Find(T value) const {
    const size_t mask = places_.size() - 1;
    size_t at = static_cast<size_t>(Hash(value)) & mask;
    while (places_[at] >= 0 && !Same(x_[groups_.first[static_cast<size_t>(places_[at])]], value)) {
      at = (at + 1) & mask;
    }
    return at;
  }
  int64_t Insert(int64_t i) {
    size_t at = Find(x_[i]);
    if (places_[at] < 0) {
      if (2 * groups_.first.size() >= places_.size()) {
        Grow();
        at = Find(x_[i]);
      }
      places_[at] = static_cast<int64_t>(groups_.first.size());
      groups_.first.push_back(i);
      groups_.counts.push_back(0);
    }
    ++groups_.counts[static_cast<size_t>(places_[at])];
    return places_[at];
  }
  void Grow() {
    places_.assign(4 * places_.size(), -1);
    for (size_t group = 0; group < groups_.first.size(); ++group)
      places_[Find(x_[groups_.first[group]])] = static_cast<int64_t>(group);
  }

  const T* x_;
  std::vector<int64_t> places_;  // groups, -1 where free; a power of two, at most half full
  Groups groups_;
};

// The groups in the order `by_rank`, which lists them.
Groups Reordered(const Groups& groups, const std::vector<int64_t>& by_rank) {
  Groups result;
  std::vector<int64_t> place(by_rank.size());
  for (size_t i = 0; i < by_rank.size(); ++i) {
    const auto from = static_cast<size_t>(by_rank[i]);
    place[from] = static_cast<int64_t>(i);
    result.first.push_back(groups.first[from]);
    result.counts.push_back(groups.counts[from]);
  }
  for (const int64_t group : groups.inverse)
    result.inverse.push_back(place[static_cast<size_t>(group)]);
  return result;
}

std::vector<int64_t> CountUp(size_t size) {
  std::vector<int64_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

template <typename T>
Groups GroupNumbers(const Slices<T>& slices, bool sorted) {
  Groups groups = NumberTable<T>::Group(slices.data, slices.count);
  if (!sorted) return groups;
  std::vector<int64_t> by_value = CountUp(groups.first.size());
  std::sort(by_value.begin(), by_value.end(), [&](int64_t a, int64_t b) {
    return slices.Compare(groups.first[static_cast<size_t>(a)],
                          groups.first[static_cast<size_t>(b)]) < 0;
  });
  return Reordered(groups, by_value);
}

template <typename T>
Groups GroupSlices(const Slices<T>& slices, bool sorted) {
  if constexpr (!std::is_same_v<T, std::string>) {
    if (slices.outer == 1 && slices.inner == 1) return GroupNumbers(slices, sorted);
  }
  std::vector<int64_t> order = CountUp(static_cast<size_t>(slices.count));
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int compared = slices.Compare(a, b);
    return compared != 0 ? compared < 0 : a < b;
  });
  Groups groups;
  groups.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.Compare(order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  if (sorted) return groups;
  std::vector<int64_t> by_first = CountUp(groups.first.size());
  std::sort(by_first.begin(), by_first.end(), [&](int64_t a, int64_t b) {
    return groups.first[static_cast<size_t>(a)] < groups.first[static_cast<size_t>(b)];
  });
  return Reordered(groups, by_first);
}

template <typename T>
class Unique : public Kernel {
 public:
  Unique(std::optional<int64_t> axis, bool sorted) : axis_(axis), sorted_(sorted) {}
  absl::Status Bind(BindContext& context) const override {
    for (int i = 0; i < context.num_outputs(); ++i) context.SetOutputAtRun(i);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const TensorView& in = context.input(0);
    Slices<T> slices = {in.as<const T>(), 1, in.num_elements(), 1};
    Dims out(1, 0);
    size_t axis = 0;
    if (axis_) {
      ONWARD_ASSIGN_OR_RETURN(const int64_t normalized, NormalizeAxis(*axis_, in.rank()));
      axis = static_cast<size_t>(normalized);
      slices.outer = NumElements(in.dims, 0, normalized);
      slices.count = in.dims[axis];
      slices.inner = NumElements(in.dims, normalized + 1, in.rank());
      out.assign(in.dims.begin(), in.dims.end());
    }
    const Groups groups = GroupSlices(slices, sorted_);
    out[axis] = static_cast<int64_t>(groups.first.size());
    ONWARD_ASSIGN_OR_RETURN(const TensorView view, context.AllocateOutput(0, in.dtype, out));
    T* to = view.as<T>();
    for (int64_t o = 0; o < slices.outer; ++o) {
      for (const int64_t first : groups.first) {
        CopyRun(slices.data + (o * slices.count + first) * slices.inner, slices.inner, to);
        to += slices.inner;
      }
    }
    const std::vector<int64_t>* lists[3] = {&groups.first, &groups.inverse, &groups.counts};
    for (int i = 0; i < 3; ++i) {
      if (!context.has_output(i + 1)) continue;
      const auto size = static_cast<int64_t>(lists[i]->size());
      ONWARD_ASSIGN_OR_RETURN(const TensorView list,
                              context.AllocateOutput(i + 1, DType::kInt64, {size}));
      CopyRun(lists[i]->data(), size, list.as<int64_t>());
    }
    return absl::OkStatus();
  }

 private:
  std::optional<int64_t> axis_;
  bool sorted_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeUnique(const NodeSpec& spec) {
  std::optional<int64_t> axis;
  if (spec.attributes().Has("axis")) axis = spec.attributes().Int("axis", 0);
  const bool sorted = spec.attributes().Int("sorted", 1) != 0;
  std::unique_ptr<Kernel> made;
  DispatchDType(UniqueTypes(), spec.input_dtype(0), [&](auto tag) {
    made = std::make_unique<Unique<typename decltype(tag)::type>>(axis, sorted);
  });
  if (made == nullptr) return absl::UnimplementedError("dtype");
  return made;
}

constexpr KernelEntry kKernels[] = {
    {"", "Unique", "unique_reference", MakeUnique},
};

}  // namespace

KernelList ReferenceUnique() { return kKernels; }

}  // namespace onward::kernels::cpu
