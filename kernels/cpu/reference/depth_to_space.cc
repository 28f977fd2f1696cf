// DepthToSpace and SpaceToDepth: transpositions of a blocked view of NCHW.
#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/strided_copy.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

class BlockedTranspose : public Kernel {
 public:
  BlockedTranspose(int64_t block, bool to_space, bool depth_first)
      : block_(block), to_space_(to_space), depth_first_(depth_first) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView dims = context.input_dims(0);
    const bool divisible =
        dims.size() == 4 && (to_space_ ? dims[1] % (block_ * block_) == 0
                                       : dims[2] % block_ == 0 && dims[3] % block_ == 0);
    if (!divisible) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", DimsString(dims), " cannot be cut by blocksize ", block_));
    }
    return to_space_ ? BindToSpace(context, dims) : BindToDepth(context, dims);
  }
  absl::Status Run(RunContext& context) const override { return RunBoundCopy(context); }

 private:
  absl::Status BindToSpace(BindContext& context, DimsView dims) const {
    const int64_t n = dims[0], c = dims[1] / (block_ * block_), h = dims[2], w = dims[3];
    // Source strides of channel, row in block, column in block.
    const int64_t channel = depth_first_ ? h * w : block_ * block_ * h * w;
    const int64_t row = depth_first_ ? block_ * c * h * w : block_ * h * w;
    const int64_t column = depth_first_ ? c * h * w : h * w;
    return BindBox(context, {n, c, h * block_, w * block_}, {n, c, h, block_, w, block_},
                   {dims[1] * h * w, channel, w, row, 1, column});
  }
  absl::Status BindToDepth(BindContext& context, DimsView dims) const {
    const int64_t n = dims[0], c = dims[1], h = dims[2] / block_, w = dims[3] / block_;
    const int64_t channel = dims[2] * dims[3], row = dims[3];
    const Dims out = {n, c * block_ * block_, h, w};
    if (depth_first_) {
      return BindBox(context, out, {n, block_, block_, c, h, w},
                     {c * channel, row, 1, channel, row * block_, block_});
    }
    return BindBox(context, out, {n, c, block_, block_, h, w},
                   {c * channel, channel, row, 1, row * block_, block_});
  }
  static absl::Status BindBox(BindContext& context, const Dims& out, const Dims& box,
                              const Dims& from) {
    auto* copy = context.NewState<StridedCopy>();
    *copy = PlanStridedCopy(context, context.input_dtype(0), box, from, Strides(box));
    context.SetOutput(0, out);
    return absl::OkStatus();
  }
  int64_t block_;
  bool to_space_, depth_first_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec, bool to_space) {
  const int64_t block = spec.attributes().Int("blocksize", 0);
  if (block < 1 || block > (int64_t{1} << 30))
    return absl::InvalidArgumentError(
        absl::StrCat("blocksize is ", block, ", must be from 1 to 2^30"));
  const std::string mode = spec.attributes().String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return absl::InvalidArgumentError(absl::StrCat("mode is '", mode, "', not DCR or CRD"));
  return std::make_unique<BlockedTranspose>(block, to_space, mode == "DCR");
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDepthToSpace(const NodeSpec& spec) {
  return Make(spec, true);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSpaceToDepth(const NodeSpec& spec) {
  return Make(spec, false);
}

constexpr KernelEntry kKernels[] = {
    {"", "DepthToSpace", "depth_to_space_reference", MakeDepthToSpace},
    {"", "SpaceToDepth", "space_to_depth_reference", MakeSpaceToDepth},
};

}  // namespace

KernelList ReferenceDepthToSpace() { return kKernels; }

}  // namespace onward::kernels::cpu
