// LRN of float32, on the vectors of one instruction set: many columns of channels side by side.
#include "kernels/bind/lrn.h"

#include <algorithm>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/simd/lrn.h"

namespace onward::kernels::cpu {
namespace {

// Columns of a piece of work: the rows of a window stay in the cache.
constexpr int64_t kColumns = 256;

class Lrn : public Kernel {
 public:
  Lrn(LrnLoop loop, const LrnParameters& parameters) : loop_(loop), parameters_(parameters) {}

  absl::Status Bind(BindContext& context) const override { return BindColumns(context, 1); }

  absl::Status Run(RunContext& context) const override {
    const AxisSplit& split = context.state<AxisSplit>();
    const float* x = context.in<float>(0);
    float* y = context.out<float>(0);
    if (split.count == 0) return absl::OkStatus();
    const int64_t before = (parameters_.size - 1) / 2;
    const LrnChannels channels = {split.count,
                                  split.inner,
                                  before,
                                  parameters_.size - 1 - before,
                                  parameters_.alpha / static_cast<float>(parameters_.size),
                                  parameters_.beta,
                                  parameters_.bias};
    const int64_t blocks = CeilDiv(split.inner, kColumns);
    const int64_t elements = split.count * std::min(split.inner, kColumns);
    context.ParallelFor(
        split.outer * blocks, std::max<int64_t>(1, 4 * kMathGrain / std::max<int64_t>(1, elements)),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t column = i % blocks * kColumns;
            const int64_t at = i / blocks * split.count * split.inner + column;
            loop_(channels, x + at, std::min(kColumns, split.inner - column), y + at);
          }
        });
    return absl::OkStatus();
  }

 private:
  LrnLoop loop_;
  LrnParameters parameters_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckFloat32(spec));
  ONWARD_ASSIGN_OR_RETURN(const LrnParameters parameters, LrnParameters::Parse(spec));
  return std::make_unique<Lrn>(kLrnPerTarget.For(TargetOf(spec))(), parameters);
}

constexpr KernelEntry kKernels[] = {{"", "LRN", "lrn", Make, kVectorTargets}};

}  // namespace

KernelList LrnKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
