// Softmax and LogSoftmax of float32, on the vectors of one instruction set.
#include "kernels/bind/softmax.h"

#include <algorithm>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/row_loops.h"

namespace onward::kernels::cpu {
namespace {

constexpr int64_t kGrain = 4096;  // elements: about 5 us

class Softmax : public Kernel {
 public:
  Softmax(const RowLoops& loops, int64_t axis, bool log) : loops_(loops), axis_(axis), log_(log) {}

  absl::Status Bind(BindContext& context) const override {
    context.AllowInPlace(0, 0);
    return BindSoftmax(context, axis_);
  }

  absl::Status Run(RunContext& context) const override {
    const AxisSplit& split = context.state<AxisSplit>();
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    if (split.count == 0) return absl::OkStatus();
    if (split.inner == 1) {
      context.ParallelFor(split.outer, std::max<int64_t>(1, kGrain / split.count),
                          [&](int64_t begin, int64_t end) {
                            const int64_t at = begin * split.count;
                            loops_.softmax(x + at, end - begin, split.count, log_, y + at);
                          });
      return absl::OkStatus();
    }
    const int64_t blocks = CeilDiv(split.inner, kSoftmaxColumns);
    context.ParallelFor(
        split.outer * blocks, std::max<int64_t>(1, kGrain / (split.count * kSoftmaxColumns)),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t column = i % blocks * kSoftmaxColumns;
            const int64_t at = i / blocks * split.count * split.inner + column;
            loops_.softmax_columns(x + at, split.count, split.inner,
                                   std::min(kSoftmaxColumns, split.inner - column), log_, y + at);
          }
        });
    return absl::OkStatus();
  }

 private:
  const RowLoops& loops_;
  int64_t axis_;
  bool log_;
};

template <bool kLog>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  return std::make_unique<Softmax>(kRowsPerTarget.For(TargetOf(spec))(),
                                   spec.attributes().Int("axis", -1), kLog);
}

template <bool kLog>
constexpr KernelEntry Row(std::string_view op, std::string_view name) {
  return {"", op, name, Make<kLog>, kVectorTargets};
}

constexpr KernelEntry kKernels[] = {
    Row<true>("LogSoftmax", "log_softmax"),
    Row<false>("Softmax", "softmax"),
};

}  // namespace

KernelList SoftmaxKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
