// Pad.
#include "kernels/bind/pad.h"

#include <algorithm>

#include "kernels/cpu/elements.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/mapped_copy.h"
#include "kernels/cpu/packed.h"
#include "onward/memory_limit.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

class Pad : public Kernel {
 public:
  explicit Pad(PadMode mode) : mode_(mode) {}

  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const std::optional<PadGeometry> g, PadDims(context, mode_));
    if (!g) return context.Defer();
    ONWARD_RETURN_IF_ERROR(CheckMemory(ByteSize(context.input_dtype(0), NumElements(g->output))));
    context.SetOutput(0, g->output);
    *context.NewState<MappedCopy>() = Derive(context, *g);
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    DispatchElement(context.output(0).dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T value = context.has_input(2) ? *context.in<T>(2) : T();
      RunMappedCopy(context, context.state<MappedCopy>(), context.in<T>(0), value,
                    context.out<T>(0));
    });
    return absl::OkStatus();
  }

 private:
  MappedCopy Derive(BindContext& context, const PadGeometry& g) const {
    const DimsView dims = context.input_dims(0);
    MappedCopy copy;
    copy.rank = static_cast<int64_t>(dims.size());
    const auto is_whole = [&](size_t axis) {
      return g.axes[axis].cut == 0 && g.axes[axis].shift == 0 && g.axes[axis].output == dims[axis];
    };
    while (copy.rank > 0 && is_whole(static_cast<size_t>(copy.rank - 1)))
      copy.block *= dims[static_cast<size_t>(--copy.rank)];
    copy.rows = copy.rank == 0 ? 1 : NumElements(g.output, 0, copy.rank - 1);
    if (NumElements(g.output) == 0) copy.rows = 0;
    const Dims strides = Strides(dims);
    copy.in_strides = context.Keep<int64_t>(strides).data();
    copy.out_dims = context.Keep<int64_t>(g.output).data();
    if (copy.rank == 0 || copy.rows == 0) return copy;
    auto** sources = context.NewArray<const int64_t*>(copy.rank);
    for (int64_t i = 0; i < copy.rank; ++i) {
      const PadAxis& axis = g.axes[static_cast<size_t>(i)];
      auto* source = context.NewArray<int64_t>(axis.output);
      for (int64_t o = 0; o < axis.output; ++o) source[o] = PadSource(mode_, axis, o);
      sources[i] = source;
      copy.run_begin = std::min(axis.shift, axis.output);
      copy.run = std::min(axis.kept, axis.output - copy.run_begin);
    }
    copy.sources = sources;
    return copy;
  }

  PadMode mode_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakePad(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const PadMode mode, ParsePadMode(spec));
  return UnpackedWhereNeeded(spec, std::make_unique<Pad>(mode));
}

constexpr KernelEntry kKernels[] = {
    {"", "Pad", "pad_reference", MakePad},
};

}  // namespace

KernelList ReferencePad() { return kKernels; }

}  // namespace onward::kernels::cpu
