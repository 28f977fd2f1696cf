// If, Loop and Scan whose bodies have values on the device: the host's kernels over memory of both
// sides.
#include "kernels/cpu/reference/control_flow.h"

#include <utility>

#include "kernels/cpu/reference/loop_values.h"
#include "kernels/cuda/copy_rows.h"
#include "kernels/cuda/kernel_list.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

const PlacedBody& Placed(const Body& body) { return static_cast<const PlacedBody&>(body); }

class DeviceMemory : public BodyMemory {
 public:
  absl::StatusOr<void*> Allocate(RunContext& context, const Body&, int64_t bytes) const override {
    return context.AllocateTemporary(bytes);
  }
  absl::Status Copy(const RunContext& context, const RowsOfBytes& rows) const override {
    if (rows.rows == 0 || rows.bytes == 0) return absl::OkStatus();
    if (rows.rows == 1) {
      return ToStatus(cudaMemcpyAsync(rows.to, rows.from, static_cast<size_t>(rows.bytes),
                                      cudaMemcpyDeviceToDevice, StreamOf(context)));
    }
    RowCopies copies(StreamOf(context));
    ONWARD_RETURN_IF_ERROR(
        copies.Add({static_cast<const char*>(rows.from), static_cast<char*>(rows.to), rows.rows,
                    rows.bytes, rows.from_pitch, rows.to_pitch}));
    return copies.Finish();
  }
  bool takes_any_address() const override { return false; }
};

class HostMemory : public BodyMemory {
 public:
  absl::StatusOr<void*> Allocate(RunContext& context, const Body& body,
                                 int64_t bytes) const override {
    return Placed(body).AllocateOnHost(context, bytes);
  }
  absl::Status Copy(const RunContext&, const RowsOfBytes& rows) const override {
    return cpu::CopyOnHost(rows);
  }
  bool takes_any_address() const override { return true; }
};

const BodyMemory& MemoryOf(bool on_device) {
  static const DeviceMemory device;
  static const HostMemory host;
  return on_device ? static_cast<const BodyMemory&>(device) : host;
}

constexpr BodyMemories kMemories = {[](const Body& body, int input) -> const BodyMemory& {
                                      return MemoryOf(Placed(body).is_input_on_device(input));
                                    },
                                    [](const Body& body, int output) -> const BodyMemory& {
                                      return MemoryOf(Placed(body).is_result_on_device(output));
                                    }};

struct HostValues {
  uint64_t inputs = 0, outputs = 0;  // a bit each
};

class ControlFlow : public Kernel {
 public:
  ControlFlow(std::unique_ptr<Kernel> flow, const HostValues& host)
      : flow_(std::move(flow)), host_(host) {}
  absl::Status Bind(BindContext& context) const override { return flow_->Bind(context); }
  absl::Status Run(RunContext& context) const override { return flow_->Run(context); }
  uint64_t host_inputs() const override { return host_.inputs; }
  uint64_t host_outputs() const override { return host_.outputs; }
  bool copies_host_memory() const override { return true; }
  bool pure() const override { return false; }

 private:
  std::unique_ptr<Kernel> flow_;
  HostValues host_;
};

using MakeFlow = absl::StatusOr<std::unique_ptr<Kernel>> (*)(const NodeSpec& spec,
                                                             const BodyMemories& memories);

// Inputs before `first_shared` are the node's alone, and lie on the host, as the condition does;
// the others are the body's. Results before `first_result` are the body's alone.
absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec, MakeFlow make,
                                             const char* attribute, int first_shared,
                                             int first_result) {
  ONWARD_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> flow, make(spec, kMemories));
  if (spec.num_inputs() > 64 || spec.num_outputs() > 64)
    return absl::UnimplementedError("more than 64 inputs or outputs");
  const std::shared_ptr<const Body> body = spec.body(attribute);
  HostValues host;
  for (int i = 0; i < spec.num_inputs(); ++i) {
    const bool on_device = i >= first_shared && Placed(*body).is_input_on_device(i);
    if (!on_device) host.inputs |= uint64_t{1} << i;
  }
  for (int i = 0; i < spec.num_outputs(); ++i) {
    if (!Placed(*body).is_result_on_device(first_result + i)) host.outputs |= uint64_t{1} << i;
  }
  return std::make_unique<ControlFlow>(std::move(flow), host);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeIf(const NodeSpec& spec) {
  return Make(spec, cpu::MakeIf, "then_branch", 1, 0);
}
absl::StatusOr<std::unique_ptr<Kernel>> MakeLoop(const NodeSpec& spec) {
  return Make(spec, cpu::MakeLoop, "body", 2, 1);
}
absl::StatusOr<std::unique_ptr<Kernel>> MakeScan(const NodeSpec& spec) {
  return Make(spec, cpu::MakeScan, "body", 0, 0);
}

constexpr KernelEntry kKernels[] = {
    {"", "If", "if_cuda", MakeIf},
    {"", "Loop", "loop_cuda", MakeLoop},
    {"", "Scan", "scan_cuda", MakeScan},
};

}  // namespace

KernelList ControlFlowKernels() { return kKernels; }

}  // namespace onward::kernels::cuda
