// TopK: a block finds the k-th key of a line digit by digit, gathers what comes before it, and
// sorts that. NaN counts as the greatest value; of equal values the lower index comes first.
#include <algorithm>
#include <bit>

#include "kernels/bind/topk.h"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/topk_key.h"

namespace onward::kernels::cuda {
namespace {

template <typename T>
using Key = TopKKey<ComputeType<T>>;

template <typename T, bool kLargest>
__device__ Key<T> KeyOf(T element) {
  return TopKKeyOf<kLargest, ComputeType<T>>(Load(element));
}

// The k-th key of a line; all above it are taken, and the first `ties` of those equal to it.
template <typename K>
struct Threshold {
  K key;
  int64_t ties;
};

template <typename T, bool kLargest>
__device__ Threshold<Key<T>> FindThreshold(const T* x, const TopKPlan& plan) {
  using K = Key<T>;
  static_assert(kThreads == 256, "a thread clears the count of one digit");
  __shared__ unsigned counts[256];
  K known = 0, mask = 0;
  int64_t left = plan.k;
  for (int shift = 8 * sizeof(K) - 8; shift >= 0; shift -= 8) {
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < plan.dim; i += kThreads) {
      const K key = KeyOf<T, kLargest>(x[i * plan.inner]);
      if ((key & mask) == known) atomicAdd(&counts[(key >> shift) & 255], 1u);
    }
    __syncthreads();
    unsigned digit = 255;
    while (counts[digit] < left) left -= counts[digit--];
    known |= static_cast<K>(digit) << shift;
    mask |= K(255) << shift;
    __syncthreads();  // before the counts are cleared
  }
  return {known, left};
}

template <typename K>
struct Entry {
  int64_t index;
  K key;

  __device__ bool IsBefore(const Entry& other) const {
    return key != other.key ? key > other.key : index < other.index;
  }
};

// Leaves the k entries that come first in entries[0, k), in any order.
template <typename T, bool kLargest>
__device__ void Gather(const T* x, const TopKPlan& plan, Entry<Key<T>>* entries) {
  __shared__ unsigned taken;
  const Threshold<Key<T>> threshold = FindThreshold<T, kLargest>(x, plan);
  if (threadIdx.x == 0) taken = 0;
  __syncthreads();
  int64_t ties = 0;  // so far
  for (int64_t begin = 0; begin < plan.dim; begin += kThreads) {
    const int64_t i = begin + threadIdx.x;
    const bool inside = i < plan.dim;
    const Key<T> key = inside ? KeyOf<T, kLargest>(x[i * plan.inner]) : 0;
    if (inside && key > threshold.key) entries[atomicAdd(&taken, 1u)] = {i, key};
    const bool tie = inside && key == threshold.key;
    const Ranked rank = RankInBlock(tie);
    if (tie && ties + rank.before < threshold.ties)
      entries[plan.k - threshold.ties + ties + rank.before] = {i, key};
    ties += rank.all;
  }
}

// Batcher's bitonic sort; `count` is a power of two.
template <typename K>
__device__ void Sort(Entry<K>* entries, int64_t count) {
  for (int64_t size = 2; size <= count; size *= 2) {
    for (int64_t stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (int64_t i = threadIdx.x; i < count / 2; i += kThreads) {
        const int64_t low = 2 * i - (i & (stride - 1)), high = low + stride;
        const Entry<K> first = entries[low], second = entries[high];
        if (second.IsBefore(first) != ((low & size) == 0)) continue;
        entries[low] = second;
        entries[high] = first;
      }
    }
  }
  __syncthreads();
}

// `padded`: entries of each block, a power of two.
template <typename T, bool kLargest>
__global__ void SelectLines(const T* data, T* values, int64_t* indices, TopKPlan plan,
                            Entry<Key<T>>* all_entries, int64_t padded) {
  Entry<Key<T>>* entries = all_entries + blockIdx.x * padded;
  for (int64_t line = blockIdx.x; line < plan.lines(); line += gridDim.x) {
    const int64_t outer = line / plan.inner, inner = line - outer * plan.inner;
    const T* x = data + outer * plan.dim * plan.inner + inner;
    Gather<T, kLargest>(x, plan, entries);
    for (int64_t i = plan.k + threadIdx.x; i < padded; i += kThreads) entries[i] = {INT64_MAX, 0};
    Sort(entries, padded);
    for (int64_t i = threadIdx.x; i < plan.k; i += kThreads) {
      const int64_t at = (outer * plan.k + i) * plan.inner + inner, index = entries[i].index;
      if (values != nullptr) values[at] = x[index * plan.inner];
      if (indices != nullptr) indices[at] = index;
    }
    __syncthreads();  // before the next line's entries
  }
}

// Blocks and the entries of each, for scratch of at most 64 MiB where lines allow it.
struct Blocking {
  int64_t blocks = 0, padded = 1;

  explicit Blocking(const TopKPlan& plan)
      : padded(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(plan.k)))) {
    constexpr int64_t kMostBytes = 64 << 20, kMostBlocks = 1024;
    const int64_t fitting = std::max<int64_t>(1, kMostBytes / (padded * kEntry));
    blocks = std::min({plan.lines(), fitting, kMostBlocks});
  }
  int64_t bytes() const { return blocks * padded * kEntry; }

 private:
  static constexpr int64_t kEntry = sizeof(Entry<uint64_t>);
};

using LaunchTopK = absl::Status (*)(const RunContext& context);

template <typename T, bool kLargest>
absl::Status LaunchSelect(const RunContext& context) {
  const auto& plan = context.state<TopKPlan>();
  const Blocking blocking(plan);
  return Launch(SelectLines<T, kLargest>, static_cast<unsigned>(blocking.blocks), kThreads, 0,
                StreamOf(context), context.in<T>(0),
                context.has_output(0) ? context.out<T>(0) : nullptr,
                context.has_output(1) ? context.out<int64_t>(1) : nullptr, plan,
                context.scratch<Entry<Key<T>>>(), blocking.padded);
}

class TopK : public Kernel {
 public:
  TopK(LaunchTopK launch, int64_t axis) : launch_(launch), axis_(axis) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const TopKPlan* plan, BindTopK(context, axis_));
    if (plan != nullptr) context.SetScratch(Blocking(*plan).bytes());
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<TopKPlan>();
    return plan.k * plan.lines() == 0 ? absl::OkStatus() : launch_(context);
  }
  uint64_t host_inputs() const override { return 2; }  // K

 private:
  LaunchTopK launch_;
  int64_t axis_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeTopK(const NodeSpec& spec) {
  const bool largest = spec.attributes().Int("largest", 1) != 0;
  LaunchTopK launch = nullptr;
  using Types = TypeList<float, double, Float16, BFloat16, int32_t, int64_t, int8_t, uint8_t>;
  DispatchDType(Types(), spec.input_dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch = largest ? LaunchSelect<T, true> : LaunchSelect<T, false>;
  });
  if (launch == nullptr) return NoLoopFor(spec.input_dtype(0));
  return std::make_unique<TopK>(launch, spec.attributes().Int("axis", -1));
}

constexpr KernelEntry kKernels[] = {{"", "TopK", "topk_cuda", MakeTopK}};

}  // namespace

KernelList TopKKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
