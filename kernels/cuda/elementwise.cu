// Fused elementwise groups: one kernel a group, compiled when it is first met.
#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/cuda/broadcast.cuh"
#include "kernels/cuda/compiled_kernels.h"
#include "kernels/cuda/elementwise_arguments.h"
#include "kernels/cuda/elementwise_source.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/packs.cuh"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

using Loop = BroadcastLoop<kMostElementwiseInputs>;
static_assert(kMostElementwiseDims == kMaxLoopDims);

struct Kernels {
  cudaKernel_t flat = nullptr, packs = nullptr, elements = nullptr, wide = nullptr;
};

absl::StatusOr<Kernels> FindAll(const CompiledKernels& compiled, const std::string& name) {
  Kernels kernels;
  ONWARD_ASSIGN_OR_RETURN(kernels.flat, compiled.Find(name + "_flat"));
  ONWARD_ASSIGN_OR_RETURN(kernels.packs, compiled.Find(name + "_packs"));
  ONWARD_ASSIGN_OR_RETURN(kernels.elements, compiled.Find(name + "_elements"));
  ONWARD_ASSIGN_OR_RETURN(kernels.wide, compiled.Find(name + "_wide"));
  return kernels;
}

// The launches of a binding: null is none.
struct Bound {
  int64_t count = 0;
  ElementwiseArguments<NarrowIndex>*by_packs = nullptr, *by_elements = nullptr;
  ElementwiseArguments<WideIndex>* wide = nullptr;
  bool flat = false;
};

template <typename I>
ElementwiseArguments<I>* ArgumentsOf(BindContext& context, const Loop& loop, int64_t packs,
                                     int64_t first, int64_t count) {
  using Number = typename I::Number;
  auto* arguments = context.NewArray<ElementwiseArguments<I>>(1);
  arguments->packs = static_cast<Number>(packs);
  arguments->first = static_cast<Number>(first);
  arguments->count = static_cast<Number>(count);
  arguments->rank = loop.rank;
  for (int d = 0; d < loop.rank; ++d) {
    arguments->dims[d] = typename I::ByDim(static_cast<Number>(loop.dims[d]));
    for (int n = 0; n < kMostElementwiseInputs; ++n)
      arguments->strides[n][d] = static_cast<Number>(loop.strides[n][d]);
  }
  for (int n = 0; n < kMostElementwiseInputs; ++n) arguments->fills[n] = loop.strides[n][0] == 0;
  return arguments;
}

class Elementwise : public Kernel {
 public:
  Elementwise(Kernels kernels, int pack, const NodeSpec& spec)
      : kernels_(kernels), pack_(pack), outputs_(spec.num_outputs()) {
    for (int i = 0; i < spec.num_inputs(); ++i) sizes_.push_back(BitSize(spec.input_dtype(i)));
    for (int i = 0; i < outputs_; ++i) output_sizes_.push_back(BitSize(spec.output_dtype(i)));
  }

  absl::Status Bind(BindContext& context) const override {
    DimsView shapes[kMostElementwiseInputs];
    for (int i = 0; i < context.num_inputs(); ++i) shapes[i] = context.input_dims(i);
    Dims dims;
    Loop loop;
    ONWARD_RETURN_IF_ERROR(BuildBroadcastLoop(shapes, nullptr, &dims, &loop));
    for (int o = 0; o < outputs_; ++o) {
      context.SetOutput(o, dims);
      for (int i = 0; i < context.num_inputs(); ++i) {
        if (shapes[i] == DimsView(dims) && SizeOf(i) == output_sizes_[static_cast<size_t>(o)])
          context.AllowInPlace(o, i);
      }
    }
    const int64_t count = NumElements(dims);
    Bound bound = {.count = count, .flat = loop.rank == 1};
    if (count > std::numeric_limits<int32_t>::max()) {
      bound.wide = ArgumentsOf<WideIndex>(context, loop, 0, 0, count);
    } else if (count > 0) {
      BindNarrow(context, loop, bound);
    }
    *context.NewState<Bound>() = bound;
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    const auto& bound = context.state<Bound>();
    if (bound.count == 0) return absl::OkStatus();
    if (kernels_.flat == nullptr)
      return absl::FailedPreconditionError("its kernel was not compiled, there was no device");
    if (bound.wide != nullptr) return Launch(context, kernels_.wide, *bound.wide, bound.count);
    if (bound.by_packs != nullptr && IsAligned(context)) {
      return Launch(context, bound.flat ? kernels_.flat : kernels_.packs, *bound.by_packs,
                    std::max<int64_t>(bound.by_packs->packs, 1));
    }
    return Launch(context, kernels_.elements, *bound.by_elements, bound.count);
  }

 private:
  int64_t SizeOf(int input) const { return sizes_[static_cast<size_t>(input)]; }

  void BindNarrow(BindContext& context, const Loop& loop, Bound& bound) const {
    bound.by_elements = ArgumentsOf<NarrowIndex>(context, loop, 0, 0, bound.count);
    const int64_t packs = bound.count / pack_;
    Loop in_packs = loop;
    if (bound.flat) {
      bound.by_packs = ArgumentsOf<NarrowIndex>(context, loop, packs, packs * pack_, bound.count);
    } else if (InPacks(pack_, in_packs)) {
      bound.by_packs = ArgumentsOf<NarrowIndex>(context, in_packs, packs, 0, bound.count);
    }
  }

  bool IsAligned(const RunContext& context) const {
    for (int i = 0; i < context.num_inputs(); ++i)
      if (!ArePackAligned({context.input(i).data})) return false;
    for (int o = 0; o < outputs_; ++o)
      if (!ArePackAligned({context.output(o).data})) return false;
    return true;
  }

  template <typename I>
  absl::Status Launch(const RunContext& context, cudaKernel_t kernel,
                      ElementwiseArguments<I> arguments, int64_t steps) const {
    for (int i = 0; i < context.num_inputs(); ++i) arguments.inputs[i] = context.input(i).data;
    for (int o = 0; o < outputs_; ++o) arguments.outputs[o] = context.output(o).data;
    return LaunchCompiled(kernel, Blocks(steps), kThreads, StreamOf(context), &arguments);
  }

  Kernels kernels_;
  int pack_;
  int outputs_;
  std::vector<int64_t> sizes_, output_sizes_;  // bits of elements
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeElementwise(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const ElementwiseSource source, WriteElementwiseSource(spec));
  // Separate ops round each product: so does one kernel where arithmetic is strict.
  std::vector<std::string> options;
  if (spec.options().precision == Precision::kStrict) options.emplace_back("--fmad=false");
  ONWARD_ASSIGN_OR_RETURN(const auto compiled, CompileKernels(source.text, options));
  Kernels kernels;
  if (compiled != nullptr) {
    ONWARD_ASSIGN_OR_RETURN(kernels, FindAll(*compiled, source.name));
  }
  return std::make_unique<Elementwise>(kernels, source.pack, spec);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "Elementwise", "elementwise_nvrtc", MakeElementwise}};

}  // namespace

KernelList ElementwiseKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
