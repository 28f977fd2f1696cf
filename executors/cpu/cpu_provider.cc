#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "executors/provider.h"
#include "kernels/cpu/kernels.h"

namespace onward {
namespace {

class Cpu : public ExecutionProvider {
 public:
  std::string_view name() const override { return "cpu"; }
  const std::vector<KernelEntry>& kernels() const override { return CpuKernels(); }
  bool is_host() const override { return true; }
  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t bytes) const override {
    constexpr auto kAlign = static_cast<int64_t>(kTensorAlignment);
    const int64_t rounded = std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
    void* memory = std::aligned_alloc(kTensorAlignment, static_cast<size_t>(rounded));
    if (memory == nullptr)
      return absl::ResourceExhaustedError(
          absl::StrCat("out of memory: ", bytes, " bytes are needed"));
    return std::shared_ptr<void>(memory, std::free);
  }
  absl::Status Copy(void* to, const void* from, int64_t bytes, bool, void*) const override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
};

}  // namespace

const ExecutionProvider& CpuProvider() {
  static const Cpu provider;
  return provider;
}

}  // namespace onward
