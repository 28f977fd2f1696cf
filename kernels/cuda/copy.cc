// onward.Copy: moves a tensor between host and device.
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"
#include "onward/communicator.h"

namespace onward::kernels::cuda {
namespace {

class Copy : public Kernel {
 public:
  Copy(bool to_host, Communicator* communicator) : to_host_(to_host), communicator_(communicator) {}
  absl::Status Bind(BindContext& context) const override {
    context.SetOutput(0, context.input_dims(0));
    return absl::OkStatus();
  }
  absl::Status Run(RunContext& context) const override {
    Stream* const stream = context.services()->stream();
    // The device may wait for ranks that are gone, and the copy would wait for the device.
    if (to_host_ && communicator_ != nullptr)
      ONWARD_RETURN_IF_ERROR(communicator_->WaitFor(stream));
    const TensorView& from = context.input(0);
    const auto kind = to_host_ ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    const absl::Status status =
        ToStatus(cudaMemcpyAsync(context.output(0).data, from.data,
                                 static_cast<size_t>(from.byte_size()), kind, HandleOf(stream)));
    // The host reads the result as soon as this step is over.
    return status.ok() && to_host_ ? ToStatus(cudaStreamSynchronize(HandleOf(stream))) : status;
  }
  uint64_t host_inputs() const override { return to_host_ ? 0 : 1; }
  uint64_t host_outputs() const override { return to_host_ ? 1 : 0; }
  bool copies_host_memory() const override { return true; }

 private:
  bool to_host_;
  Communicator* communicator_;  // null: there is one rank
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeCopy(const NodeSpec& spec) {
  if (!spec.input_type(0).is_tensor() || spec.input_dtype(0) == DType::kString) {
    return absl::UnimplementedError("only tensors of numbers are copied");
  }
  return std::make_unique<Copy>(spec.attributes().String("to") == "cpu",
                                spec.options().communicator);
}

constexpr KernelEntry kKernels[] = {{"onward", "Copy", "copy_cuda", MakeCopy}};

}  // namespace

KernelList CopyKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
