// An execution provider: where kernels come from and where their memory lies.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device_run.h"
#include "onward/communicator.h"
#include "onward/kernel.h"

namespace onward::executors {

enum class CopyKind { kToDevice, kToHost, kOnDevice };

// Work that a provider recorded, for its Launch.
class RecordedWork {
 public:
  RecordedWork() = default;
  virtual ~RecordedWork() = default;
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;
};

class ExecutionProvider {
 public:
  virtual ~ExecutionProvider() = default;
  virtual std::string_view name() const = 0;  // "cpu", "cuda"
  virtual const std::vector<KernelEntry>& kernels() const = 0;
  // FailedPrecondition: it has no device here that could run them.
  virtual absl::Status CheckDevice() const { return absl::OkStatus(); }
  // Memory aligned to kTensorAlignment; ResourceExhausted when there is none left. Freed with the
  // last reference.
  virtual absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t bytes) const = 0;
  // A stream for one run at a time, null where the provider has none. Freed with the last
  // reference.
  virtual absl::StatusOr<std::shared_ptr<Stream>> CreateStream() const {
    return std::shared_ptr<Stream>();
  }
  // Returns whether its memory can be read by the host.
  virtual bool is_host() const { return false; }
  // Where its memory lies.
  virtual Device device() const { return {}; }
  // Makes its device the one that calls of the calling thread mean.
  virtual absl::Status MakeCurrent() const { return absl::OkStatus(); }
  // Returns ranks that sum in the provider's memory as well; every rank calls it. Unimplemented:
  // they cannot, for the reason that it says.
  virtual absl::StatusOr<std::shared_ptr<Communicator>> JoinRanks(
      std::shared_ptr<Communicator> ranks) const {
    return ranks;
  }
  // Copies between host and provider memory; null stream: synchronously.
  virtual absl::Status Copy(void* to, const void* from, int64_t bytes, CopyKind kind,
                            Stream* stream) const = 0;
  // Memory that host and device see. Null where all memory is the host's. Freed with the last
  // reference.
  virtual absl::StatusOr<std::shared_ptr<kernels::DeviceRun>> AllocateRun() const {
    return std::shared_ptr<kernels::DeviceRun>();
  }
  // Waits for what was put on the stream.
  virtual absl::Status Synchronize(Stream*) const { return absl::OkStatus(); }
  // Records what the calling thread puts on the stream, which is not done, until EndCapture. Only
  // work on the provider's memory can be recorded. Unimplemented: the provider records nothing.
  virtual absl::Status BeginCapture(Stream*) const {
    return absl::UnimplementedError("the provider records no work");
  }
  // Ends the recording, also after a failure, and returns what Launch takes.
  virtual absl::StatusOr<std::unique_ptr<RecordedWork>> EndCapture(Stream*) const {
    return absl::UnimplementedError("the provider records no work");
  }
  // Puts recorded work on the stream: the same calls with the same addresses.
  virtual absl::Status Launch(const RecordedWork&, Stream*) const {
    return absl::UnimplementedError("the provider records no work");
  }
};

// Memory of the provider that counts against the limit in force in this thread, also on a device.
// ResourceExhausted when the limit or the provider does not give it.
absl::StatusOr<std::shared_ptr<void>> AllocateOn(const ExecutionProvider& provider, int64_t bytes);

// The number of devices of a kind that a process can name.
inline constexpr int kMostDevices = 64;

// The process's CPU provider.
const ExecutionProvider& CpuProvider();
// InvalidArgument: a name that is neither "cpu" nor "cuda" nor that of a device, "cuda:1".
absl::Status CheckProviderName(std::string_view name);
// The provider by name; InvalidArgument as CheckProviderName, Unimplemented for one this build
// lacks, FailedPrecondition when its libraries are absent, or the device that it needs unless it
// only plans.
absl::StatusOr<const ExecutionProvider*> FindProvider(std::string_view name,
                                                      bool plan_only = false);

// The provider's kernels of an op in the order in which they are tried: those that users added
// (custom_ops.h), then its own. Thread-safe.
std::vector<const KernelEntry*> FindKernels(const ExecutionProvider& provider,
                                            std::string_view domain, std::string_view op);
// Adds a kernel to the provider of that name, for the life of the process. Thread-safe.
void AddKernel(std::string_view provider, std::string_view domain, std::string_view op,
               std::string_view name, MakeKernel make);

}  // namespace onward::executors
