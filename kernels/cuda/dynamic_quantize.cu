// DynamicQuantizeLinear: a launch for the range, by parts, and one for the codes.
#include <algorithm>
#include <cmath>

#include "kernels/bind/quantize.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/rows.cuh"

namespace onward::kernels::cuda {
namespace {

// Each block of the second launch combines the ranges of all parts, one a thread.
constexpr int64_t kMostParts = kThreads;
constexpr int64_t kPartElements = 16 * kThreads;

struct Range {
  float low, high;  // 0 lies between; NaN is left out
};

int64_t PartsOf(int64_t count) {
  return std::clamp<int64_t>((count + kPartElements - 1) / kPartElements, 1, kMostParts);
}

__device__ Range CombineRange(Range range) {
  return {CombineBlock<functors::Min>(range.low), CombineBlock<functors::Max>(range.high)};
}

__global__ void FindRanges(const float* x, Range* ranges, int64_t count) {
  Range range = {0, 0};
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    range.low = x[i] < range.low ? x[i] : range.low;
    range.high = x[i] > range.high ? x[i] : range.high;
  }
  range = CombineRange(range);
  if (threadIdx.x == 0) ranges[blockIdx.x] = range;
}

__global__ void QuantizeByRange(const float* x, const Range* ranges, int64_t parts, uint8_t* y,
                                float* scale_out, uint8_t* zero_out, int64_t count) {
  const Range range = CombineRange(threadIdx.x < parts ? ranges[threadIdx.x] : Range{0, 0});
  const float scale = (range.high == range.low ? 1.0f : range.high - range.low) / 255.0f;
  const float zero = std::nearbyint(fminf(255.0f, fmaxf(0.0f, -range.low / scale)));
  if (GlobalIndex() == 0) {
    *scale_out = scale;
    *zero_out = static_cast<uint8_t>(zero);
  }
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const float value = std::nearbyint(x[i] / scale) + zero;
    y[i] = static_cast<uint8_t>(!(value > 0.0f) ? 0.0f : value > 255.0f ? 255.0f : value);
  }
}

class DynamicQuantize : public Kernel {
 public:
  absl::Status Bind(BindContext& context) const override {
    BindDynamicQuantize(context);
    const int64_t parts = PartsOf(NumElements(context.input_dims(0)));
    context.SetScratch(parts * static_cast<int64_t>(sizeof(Range)));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    const int64_t count = context.input(0).num_elements(), parts = PartsOf(count);
    const float* x = context.in<float>(0);
    auto* ranges = context.scratch<Range>();
    ONWARD_RETURN_IF_ERROR(Launch(FindRanges, static_cast<unsigned>(parts), kThreads, 0,
                                  StreamOf(context), x, ranges, count));
    return Launch(QuantizeByRange, Blocks(std::max<int64_t>(count, 1)), kThreads, 0,
                  StreamOf(context), x, ranges, parts, context.out<uint8_t>(0),
                  context.out<float>(1), context.out<uint8_t>(2), count);
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeDynamicQuantize(const NodeSpec& spec) {
  if (spec.input_dtype(0) != DType::kFloat32) return NoLoopFor(spec.input_dtype(0));
  for (const int output : {0, 1, 2}) {
    if (!spec.has_output(output)) return absl::UnimplementedError("an output is left out");
  }
  return std::make_unique<DynamicQuantize>();
}

constexpr KernelEntry kKernels[] = {
    {"", "DynamicQuantizeLinear", "dynamic_quantize_linear_cuda", MakeDynamicQuantize}};

}  // namespace

KernelList DynamicQuantizeKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
