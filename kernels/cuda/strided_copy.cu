// Transpose, DepthToSpace, SpaceToDepth, Slice, Expand and Tile: each element of the output is read
// from where it lies in the input.
#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/bind/depth_to_space.h"
#include "kernels/bind/expand.h"
#include "kernels/bind/slice.h"
#include "kernels/bind/transpose.h"
#include "kernels/cuda/index_math.cuh"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/launch.cuh"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

constexpr int kMostAxes = 12;

// A box of units in the output's order, the last axis first; strides of the input in units.
struct Plan {
  int64_t count = 0;   // units
  int64_t offset = 0;  // units
  int unit = 1;        // bytes
  int rank = 0;
  int64_t dims[kMostAxes] = {}, strides[kMostAxes] = {};

  bool is_contiguous() const { return rank == 0 || (rank == 1 && strides[0] == 1); }
};

template <typename Index, typename By>
struct Axes {
  int rank = 0;
  By dims[kMostAxes];
  Index strides[kMostAxes] = {};
};

template <typename U, typename Index, typename By>
__global__ void StridedCopyLoop(const U* from, U* to, Index count, Axes<Index, By> axes) {
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    Index rest = static_cast<Index>(i), at = 0;
    for (int d = 0; d + 1 < axes.rank; ++d) {
      const Index above = axes.dims[d].Quotient(rest);
      at += (rest - above * axes.dims[d].divisor) * axes.strides[d];
      rest = above;
    }
    at += rest * axes.strides[axes.rank - 1];
    to[i] = from[static_cast<int64_t>(at)];
  }
}

template <typename U, typename Index, typename By>
absl::Status LaunchCopy(const Plan& plan, const void* from, void* to, cudaStream_t stream) {
  Axes<Index, By> axes;
  axes.rank = plan.rank;
  for (int d = 0; d < plan.rank; ++d) {
    axes.dims[d] = By(static_cast<Index>(plan.dims[d]));
    axes.strides[d] = static_cast<Index>(plan.strides[d]);
  }
  return Launch(StridedCopyLoop<U, Index, By>, Blocks(plan.count), kThreads, 0, stream,
                static_cast<const U*>(from) + plan.offset, static_cast<U*>(to),
                static_cast<Index>(plan.count), axes);
}

// Returns whether no position in the input or the output needs more than 31 bits, nor a sign.
bool IsSmall(const Plan& plan) {
  int64_t last = 0;
  for (int d = 0; d < plan.rank; ++d) {
    if (plan.strides[d] < 0) return false;
    last += (plan.dims[d] - 1) * plan.strides[d];
  }
  return std::max(last, plan.count) <= INT32_MAX;
}

template <typename U>
absl::Status CopyUnits(const Plan& plan, const void* from, void* to, cudaStream_t stream) {
  return IsSmall(plan) ? LaunchCopy<U, uint32_t, Divisor>(plan, from, to, stream)
                       : LaunchCopy<U, int64_t, WideDivisor>(plan, from, to, stream);
}

absl::Status Copy(const Plan& plan, const void* from, void* to, cudaStream_t stream) {
  if (plan.is_contiguous()) {
    return ToStatus(cudaMemcpyAsync(to, static_cast<const char*>(from) + plan.offset * plan.unit,
                                    static_cast<size_t>(plan.count * plan.unit),
                                    cudaMemcpyDeviceToDevice, stream));
  }
  switch (plan.unit) {
    case 1:
      return CopyUnits<uint8_t>(plan, from, to, stream);
    case 2:
      return CopyUnits<uint16_t>(plan, from, to, stream);
    case 4:
      return CopyUnits<uint32_t>(plan, from, to, stream);
    case 8:
      return CopyUnits<uint2>(plan, from, to, stream);
    default:
      return CopyUnits<uint4>(plan, from, to, stream);
  }
}

// Axes of one element are left out, and those that continue each other become one.
absl::Status MergeAxes(const StridedView& view, Plan& plan) {
  for (size_t i = view.dims.size(); i-- > 0;) {
    const int64_t dim = view.dims[i], stride = view.strides[i];
    if (dim == 1) continue;
    const int last = plan.rank - 1;
    if (plan.rank > 0 && stride == plan.strides[last] * plan.dims[last]) {
      plan.dims[last] *= dim;
      continue;
    }
    if (plan.rank == kMostAxes)
      return absl::UnimplementedError(
          "more axes than the device's copies take; use --provider cpu");
    plan.dims[plan.rank] = dim;
    plan.strides[plan.rank++] = stride;
  }
  return absl::OkStatus();
}

// Runs of elements move in units of up to 16 bytes, where all of them begin at multiples of these.
void Widen(Plan& plan) {
  if (plan.rank == 0 || plan.strides[0] != 1) return;
  const auto fits = [&](int64_t times) {
    bool even = plan.dims[0] % times == 0 && plan.offset % times == 0;
    for (int d = 1; d < plan.rank; ++d) even = even && plan.strides[d] % times == 0;
    return even;
  };
  int64_t times = std::max(1, 16 / plan.unit);
  while (!fits(times)) times /= 2;
  plan.unit *= static_cast<int>(times);
  plan.count /= times;
  plan.offset /= times;
  plan.dims[0] /= times;
  for (int d = 1; d < plan.rank; ++d) plan.strides[d] /= times;
}

absl::Status MakePlan(const StridedView& view, DType dtype, Plan& plan) {
  plan.count = NumElements(view.dims);
  plan.offset = view.offset;
  plan.unit = std::max(8, BitSize(dtype)) / 8;
  if (plan.count == 0) return absl::OkStatus();
  ONWARD_RETURN_IF_ERROR(MergeAxes(view, plan));
  Widen(plan);
  return absl::OkStatus();
}

class StridedCopy : public Kernel {
 public:
  absl::Status Run(RunContext& context) const override {
    const auto& plan = context.state<Plan>();
    const void* from = context.input(0).data;
    if (plan.count == 0 || context.output(0).data == from) return absl::OkStatus();
    return Copy(plan, from, context.output(0).data, StreamOf(context));
  }
  uint64_t host_inputs() const override { return ~uint64_t{1}; }  // shapes, starts, repeats

 protected:
  static absl::Status PlanCopy(BindContext& context, const StridedView& view) {
    auto* plan = context.NewState<Plan>();
    ONWARD_RETURN_IF_ERROR(MakePlan(view, context.input_dtype(0), *plan));
    context.SetOutput(0, view.output);
    const bool whole = plan->is_contiguous() && plan->offset == 0 &&
                       NumElements(view.output) == NumElements(context.input_dims(0));
    if (whole) context.AliasOutput(0, 0);
    return absl::OkStatus();
  }
};

class Transpose : public StridedCopy {
 public:
  explicit Transpose(std::vector<int64_t> perm) : perm_(std::move(perm)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const StridedView view, TransposeView(perm_, context.input_dims(0)));
    return PlanCopy(context, view);
  }

 private:
  const std::vector<int64_t> perm_;
};

using BlockedView = absl::StatusOr<StridedView> (*)(const BlockAttributes& blocks, DimsView dims);

class BlockedTranspose : public StridedCopy {
 public:
  BlockedTranspose(BlockedView view, BlockAttributes blocks) : view_(view), blocks_(blocks) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const StridedView view, view_(blocks_, context.input_dims(0)));
    return PlanCopy(context, view);
  }

 private:
  const BlockedView view_;
  const BlockAttributes blocks_;
};

using View = absl::StatusOr<std::optional<StridedView>> (*)(const BindContext& context);

class ViewCopy : public StridedCopy {
 public:
  explicit ViewCopy(View view) : view_(view) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const std::optional<StridedView> view, view_(context));
    if (!view) return context.Defer();
    return PlanCopy(context, *view);
  }

 private:
  const View view_;
};

absl::Status CheckDType(const NodeSpec& spec) {
  const DType dtype = spec.input_dtype(0);
  if (spec.input_type(0).is_tensor() && dtype != DType::kString && !IsSubByte(dtype))
    return absl::OkStatus();
  return absl::UnimplementedError("only tensors of whole bytes lie on the device");
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTranspose(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckDType(spec));
  ONWARD_ASSIGN_OR_RETURN(std::vector<int64_t> perm, TransposePerm(spec));
  return std::make_unique<Transpose>(std::move(perm));
}

template <BlockedView view>
absl::StatusOr<std::unique_ptr<Kernel>> MakeBlockedTranspose(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckDType(spec));
  ONWARD_ASSIGN_OR_RETURN(const BlockAttributes blocks, ParseBlocks(spec));
  return std::make_unique<BlockedTranspose>(view, blocks);
}

template <View view>
absl::StatusOr<std::unique_ptr<Kernel>> MakeViewCopy(const NodeSpec& spec) {
  ONWARD_RETURN_IF_ERROR(CheckDType(spec));
  return std::make_unique<ViewCopy>(view);
}

constexpr KernelEntry kKernels[] = {
    {"", "DepthToSpace", "depth_to_space_cuda", MakeBlockedTranspose<DepthToSpaceView>},
    {"", "Expand", "expand_cuda", MakeViewCopy<ExpandView>},
    {"", "Slice", "slice_cuda", MakeViewCopy<SliceView>},
    {"", "SpaceToDepth", "space_to_depth_cuda", MakeBlockedTranspose<SpaceToDepthView>},
    {"", "Tile", "tile_cuda", MakeViewCopy<TileView>},
    {"", "Transpose", "transpose_cuda", MakeTranspose},
};

}  // namespace

KernelList StridedCopyKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
