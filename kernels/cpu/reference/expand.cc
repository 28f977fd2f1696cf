// Expand and Tile: elements repeat along axes.
#include "kernels/bind/expand.h"

#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/strided_copy.h"
#include "onward/status.h"

namespace onward::kernels::cpu {
namespace {

using View = absl::StatusOr<std::optional<StridedView>> (*)(const BindContext& context);

class Repeat : public Kernel {
 public:
  explicit Repeat(View view) : view_(view) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const std::optional<StridedView> view, view_(context));
    if (!view) return context.Defer();
    BindStridedCopy(context, *view);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override { return RunBoundCopy(context); }

 private:
  const View view_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeExpand(const NodeSpec&) {
  return std::make_unique<Repeat>(ExpandView);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTile(const NodeSpec&) {
  return std::make_unique<Repeat>(TileView);
}

constexpr KernelEntry kKernels[] = {
    {"", "Expand", "expand_reference", MakeExpand},
    {"", "Tile", "tile_reference", MakeTile},
};

}  // namespace

KernelList ReferenceExpand() { return kKernels; }

}  // namespace onward::kernels::cpu
