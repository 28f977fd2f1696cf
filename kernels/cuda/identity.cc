// Ops whose output has the elements of input 0 in the same order.
#include "kernels/bind/identity.h"

#include <utility>

#include "kernels/cuda/copy_input.h"
#include "kernels/cuda/kernel_list.h"

namespace onward::kernels::cuda {
namespace {

class SameElements : public Kernel {
 public:
  SameElements(BindSameElements bind, uint64_t host_inputs)
      : bind_(std::move(bind)), host_inputs_(host_inputs) {}
  absl::Status Bind(BindContext& context) const override { return bind_(context); }
  absl::Status Run(RunContext& context) const override { return CopyInput(context); }
  uint64_t host_inputs() const override { return host_inputs_; }

 private:
  const BindSameElements bind_;
  const uint64_t host_inputs_;
};

constexpr uint64_t kShapesAndAxes = ~uint64_t{1};

template <uint64_t kHostInputs>
absl::StatusOr<std::unique_ptr<Kernel>> MakeSameElements(const NodeSpec& spec) {
  for (int i = 0; i < spec.num_inputs(); ++i) {
    const bool on_device = spec.has_input(i) && (kHostInputs >> i & 1) == 0;
    if (on_device && (!spec.input_type(i).is_tensor() || spec.input_dtype(i) == DType::kString))
      return absl::UnimplementedError("only tensors of numbers lie on the device");
  }
  return std::make_unique<SameElements>(BindOfSameElements(spec), kHostInputs);
}

constexpr KernelEntry kKernels[] = {
    {"onward", "After", "after_cuda", MakeSameElements<0>},  // nobody reads the token
    {"", "Flatten", "flatten_cuda", MakeSameElements<kShapesAndAxes>},
    {"", "Identity", "identity_cuda", MakeSameElements<kShapesAndAxes>},
    {"onward", "RequireShape", "require_shape_cuda", MakeSameElements<kShapesAndAxes>},
    {"", "Reshape", "reshape_cuda", MakeSameElements<kShapesAndAxes>},
    {"", "Squeeze", "squeeze_cuda", MakeSameElements<kShapesAndAxes>},
    {"", "Unsqueeze", "unsqueeze_cuda", MakeSameElements<kShapesAndAxes>},
};

}  // namespace

KernelList IdentityKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
