// Resize: one pass per axis that changes. Each output position is a weighted sum of a few input
// positions of its axis; the nearest mode moves elements of any type.
#include "kernels/bind/resize.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/mapped_copy.h"
#include "kernels/cpu/reference/resize_passes.h"
#include "onward/memory_limit.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

void RunNearest(const RunContext& context, float extrapolation) {
  const DType dtype = context.input(0).dtype;
  DispatchElement(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T fill = T();
    if constexpr (!std::is_same_v<T, std::string>) StoreExtrapolation(dtype, extrapolation, &fill);
    RunMappedCopy(context, context.state<MappedCopy>(), context.in<T>(0), fill, context.out<T>(0));
  });
}

class Resize : public Kernel {
 public:
  Resize(ResizeOptions options, RunResize run, int64_t accumulator_size)
      : options_(std::move(options)), run_(run), accumulator_size_(accumulator_size) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const std::optional<BoundResize> bound, BindResize(context, options_));
    if (!bound) return context.Defer();
    const DimsView dims = context.input_dims(0);
    ONWARD_RETURN_IF_ERROR(CheckMemory(ByteSize(context.input_dtype(0), NumElements(bound->out))));
    if (options_.rule.mode == ResizeMode::kNearest) {
      BindNearest(context, dims, bound->out, bound->axes);
    } else {
      BindPasses(context, dims, bound->axes);
    }
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    if (context.output(0).num_elements() == 0) return absl::OkStatus();
    if (context.output(0).data != context.input(0).data) run_(context, options_.extrapolation);
    return absl::OkStatus();
  }

 private:
  Pass TapsOf(BindContext& context, const ResizeAxis& axis) const {
    Pass pass;
    pass.in = axis.in, pass.out = axis.out;
    pass.taps = ResizeTaps(options_.rule, axis.scale);
    const int64_t count = pass.out * pass.taps;
    auto* positions = context.NewArray<int64_t>(count);
    auto* weights = context.NewArray<double>(count);
    FillResizeTaps(options_.rule, axis, pass.taps,
                   absl::MakeSpan(positions, static_cast<size_t>(count)),
                   absl::MakeSpan(weights, static_cast<size_t>(count)));
    auto* rounded = context.NewArray<float>(count);
    for (int64_t i = 0; i < count; ++i) rounded[i] = static_cast<float>(weights[i]);
    pass.positions = positions;
    pass.weights = weights;
    pass.float_weights = rounded;
    return pass;
  }

  void BindPasses(BindContext& context, DimsView dims, const ResizeAxes& axes) const {
    auto* state = context.NewState<ResizePasses>();
    auto* passes = context.NewArray<Pass>(static_cast<int64_t>(axes.size()));
    Dims now(dims.begin(), dims.end());
    for (const ResizeAxis& axis : axes) {
      Pass& pass = passes[state->num_passes++];
      pass = TapsOf(context, axis);
      pass.outer = NumElements(now, 0, axis.axis);
      pass.inner = NumElements(now, axis.axis + 1, static_cast<int64_t>(now.size()));
      now[static_cast<size_t>(axis.axis)] = axis.out;
      if (state->num_passes < static_cast<int64_t>(axes.size()))
        state->buffer = std::max(state->buffer, NumElements(now));
    }
    state->passes = passes;
    context.SetScratch(2 * state->buffer * accumulator_size_);
  }

  void BindNearest(BindContext& context, DimsView dims, const Dims& out,
                   const ResizeAxes& axes) const {
    auto* copy = context.NewState<MappedCopy>();
    const Dims strides = Strides(dims);
    copy->in_strides = context.Keep<int64_t>(strides).data();
    copy->out_dims = context.Keep<int64_t>(out).data();
    for (const ResizeAxis& axis : axes) copy->rank = std::max(copy->rank, axis.axis + 1);
    copy->rows = copy->rank == 0 ? 1 : NumElements(out, 0, copy->rank - 1);
    copy->block = NumElements(dims, copy->rank, static_cast<int64_t>(dims.size()));
    auto** sources = context.NewArray<const int64_t*>(copy->rank);
    for (const ResizeAxis& axis : axes) sources[axis.axis] = TapsOf(context, axis).positions;
    for (int64_t i = 0; i < copy->rank; ++i) {
      if (sources[i] != nullptr) continue;
      auto* same = context.NewArray<int64_t>(dims[static_cast<size_t>(i)]);
      for (int64_t o = 0; o < dims[static_cast<size_t>(i)]; ++o) same[o] = o;
      sources[i] = same;
    }
    copy->sources = sources;
  }

  ResizeOptions options_;
  RunResize run_;
  int64_t accumulator_size_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeResize(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(ResizeOptions options, ReadResizeOptions(spec));
  RunResize run = options.rule.mode == ResizeMode::kNearest ? RunNearest : nullptr;
  int64_t accumulator_size = 0;
  if (run == nullptr) run = InterpolationOf(spec.input_dtype(0), &accumulator_size);
  if (run == nullptr) return absl::UnimplementedError("dtype with a mode that interpolates");
  return std::make_unique<Resize>(std::move(options), run, accumulator_size);
}

constexpr KernelEntry kKernels[] = {
    {"", "Resize", "resize_reference", MakeResize},
};

}  // namespace

KernelList ReferenceResize() { return kKernels; }

}  // namespace onward::kernels::cpu
