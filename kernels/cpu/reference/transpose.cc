// Transpose.
#include "kernels/bind/transpose.h"

#include <utility>
#include <vector>

#include "kernels/cpu/kernel_list.h"
#include "kernels/cpu/packed.h"
#include "kernels/cpu/strided_copy.h"
#include "onward/status.h"

namespace onward::kernels::cpu {
namespace {

class Transpose : public Kernel {
 public:
  explicit Transpose(std::vector<int64_t> perm) : perm_(std::move(perm)) {}
  absl::Status Bind(BindContext& context) const override {
    ONWARD_ASSIGN_OR_RETURN(const StridedView view, TransposeView(perm_, context.input_dims(0)));
    BindStridedCopy(context, view);
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override { return RunBoundCopy(context); }

 private:
  const std::vector<int64_t> perm_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeTranspose(const NodeSpec& spec) {
  ONWARD_ASSIGN_OR_RETURN(std::vector<int64_t> perm, TransposePerm(spec));
  return UnpackedWhereNeeded(spec, std::make_unique<Transpose>(std::move(perm)));
}

constexpr KernelEntry kKernels[] = {
    {"", "Transpose", "transpose_reference", MakeTranspose},
};

}  // namespace

KernelList ReferenceTranspose() { return kKernels; }

}  // namespace onward::kernels::cpu
