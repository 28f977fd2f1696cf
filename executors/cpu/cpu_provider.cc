#include <cstring>

#include "executors/provider.h"
#include "kernels/cpu/kernels.h"
#include "onward/memory_limit.h"

namespace onward::executors {
namespace {

class Cpu : public ExecutionProvider {
 public:
  std::string_view name() const override { return "cpu"; }
  const std::vector<KernelEntry>& kernels() const override { return kernels::CpuKernels(); }
  bool is_host() const override { return true; }
  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t bytes) const override {
    return AllocateMemory(bytes);
  }
  absl::Status Copy(void* to, const void* from, int64_t bytes, CopyKind, Stream*) const override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
};

}  // namespace

const ExecutionProvider& CpuProvider() {
  static const Cpu provider;
  return provider;
}

}  // namespace onward::executors
