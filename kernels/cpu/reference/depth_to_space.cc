// DepthToSpace and SpaceToDepth.
#include "kernels/bind/depth_to_space.h"

#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/strided_copy.h"

namespace onward::kernels::cpu {
namespace {

using View = absl::StatusOr<StridedView> (*)(const BlockAttributes& blocks, DimsView dims);

class BlockedTranspose : public Kernel {
 public:
  BlockedTranspose(View view, BlockAttributes blocks) : view_(view), blocks_(blocks) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const StridedView view, view_(blocks_, context.input_dims(0)));
    BindStridedCopy(context, view);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override { return RunBoundCopy(context); }

 private:
  const View view_;
  const BlockAttributes blocks_;
};

template <View view>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(const BlockAttributes blocks, ParseBlocks(spec));
  return std::make_unique<BlockedTranspose>(view, blocks);
}

constexpr KernelEntry kKernels[] = {
    {"", "DepthToSpace", "depth_to_space_reference", Make<DepthToSpaceView>},
    {"", "SpaceToDepth", "space_to_depth_reference", Make<SpaceToDepthView>},
};

}  // namespace

KernelList ReferenceDepthToSpace() { return kKernels; }

}  // namespace onward::kernels::cpu
