// MaxUnpool: scatters MaxPool's outputs back to where they came from; everything else is zero.
#include "kernels/bind/max_unpool.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/kernel_list.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16 * 1024;  // elements

template <typename T>
class MaxUnpool : public Kernel {
 public:
  explicit MaxUnpool(PoolAttributes attributes) : attributes_(std::move(attributes)) {}

  absl::Status Bind(BindContext& context) const override {
    return BindMaxUnpool(context, attributes_);
  }
  absl::Status Run(RunContext& context) const override {
    const auto& s = context.state<MaxUnpoolPlan>();
    const bool moves = s.outputs != s.size;  // indices count other elements than the output's
    if (!moves && IndicesAreOfOwnPlanes(context)) {
      ScatterPlanes(context);
      return absl::OkStatus();
    }
    // An element that several indices name has the last one's value. One thread fills, too: what it
    // then writes is in its cache.
    const int64_t* indices = context.in<int64_t>(1);
    const T* x = context.in<T>(0);
    T* y = context.out<T>(0);
    std::fill_n(y, s.outputs, T());
    const int64_t count = context.input(0).num_elements(), size = s.size;
    for (int64_t i = 0; i < count; ++i) {
      if (indices[i] < 0 || indices[i] >= size) {
        return absl::InvalidArgumentError(absl::StrCat(
            "index ", indices[i], " at ", i, " is outside the unpooled ", size, " elements"));
      }
      y[moves ? OutputOffset(s, indices[i]) : indices[i]] = x[i];
    }
    return absl::OkStatus();
  }

 private:
  struct Planes {
    int64_t count, pooled, size;
  };
  static Planes PlanesOf(const RunContext& context) {
    const DimsView x = context.input(0).dims;
    const int64_t count = x[0] * x[1], some = std::max<int64_t>(1, count);
    return {count, context.input(0).num_elements() / some, context.output(0).num_elements() / some};
  }

  // Returns whether each index is of the plane of its value, as those that MaxPool gives are.
  static bool IndicesAreOfOwnPlanes(const RunContext& context) {
    const Planes planes = PlanesOf(context);
    const int64_t* indices = context.in<int64_t>(1);
    std::atomic<bool> all = true;
    const int64_t grain = std::max<int64_t>(1, kGrain / (planes.pooled + 1));
    context.ParallelFor(planes.count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end && all.load(std::memory_order_relaxed); ++plane) {
        const int64_t first = plane * planes.size;
        bool own = true;
        for (int64_t i = plane * planes.pooled; i < (plane + 1) * planes.pooled; ++i)
          own &= indices[i] >= first && indices[i] < first + planes.size;
        if (!own) all.store(false, std::memory_order_relaxed);
      }
    });
    return all;
  }

  static void ScatterPlanes(const RunContext& context) {
    const Planes planes = PlanesOf(context);
    const int64_t* indices = context.in<int64_t>(1);
    const T* x = context.in<T>(0);
    T* y = context.out<T>(0);
    const int64_t grain = std::max<int64_t>(1, kGrain / (planes.size + 1));
    context.ParallelFor(planes.count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        std::fill_n(y + plane * planes.size, planes.size, T());
        for (int64_t i = plane * planes.pooled; i < (plane + 1) * planes.pooled; ++i)
          y[indices[i]] = x[i];
      }
    });
  }

  static int64_t OutputOffset(const MaxUnpoolPlan& s, int64_t index) {
    int64_t offset = 0;
    for (size_t i = s.inferred.size(); i-- > 0;) {
      offset += index % s.inferred[i] * s.strides[i];
      index /= s.inferred[i];
    }
    return offset;
  }

  PoolAttributes attributes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxUnpool(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const PoolAttributes attributes, PoolAttributes::Parse(spec));
  std::unique_ptr<Kernel> kernel;
  DispatchDType(FloatTypes(), spec.input_dtype(0), [&](auto tag) {
    kernel = std::make_unique<MaxUnpool<typename decltype(tag)::type>>(attributes);
  });
  if (kernel == nullptr) return absl::UnimplementedError("MaxUnpool takes floating-point tensors");
  return kernel;
}

constexpr KernelEntry kKernels[] = {
    {"", "MaxUnpool", "max_unpool_reference", MakeMaxUnpool},
};

}  // namespace

KernelList ReferenceMaxUnpool() { return kKernels; }

}  // namespace onward::kernels::cpu
