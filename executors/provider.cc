#include "executors/provider.h"

#ifdef ONWARD_CUDA
#include <dlfcn.h>

#include "provider_interface.h"
#endif

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "onward/memory_limit.h"
#include "onward/status.h"

namespace onward::executors {
namespace {

#ifdef ONWARD_CUDA
// Returns the provider of a device, by its number.
using CudaEntry = const ExecutionProvider* (*)(int device);

// Loads the provider's library beside the program once; the library stays loaded.
absl::StatusOr<CudaEntry> LoadCudaProvider() {
  void* library = dlopen("libonward_cuda.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the CUDA provider cannot be loaded (", dlerror(), "); use --provider cpu"));
  }
  using Interface = const char* (*)();
  const auto interface = reinterpret_cast<Interface>(dlsym(library, "onward_provider_interface"));
  const auto entry = reinterpret_cast<CudaEntry>(dlsym(library, "onward_cuda_provider"));
  if (interface != nullptr && entry != nullptr &&
      std::string_view(interface()) == ONWARD_PROVIDER_INTERFACE) {
    return entry;
  }
  Dl_info place = {};
  dladdr(reinterpret_cast<void*>(entry), &place);
  return absl::FailedPreconditionError(absl::StrCat(
      "'", place.dli_fname == nullptr ? "libonward_cuda.so" : place.dli_fname,
      "' is of another build than this program (interface ",
      interface == nullptr ? "unknown" : interface(), ", not ", ONWARD_PROVIDER_INTERFACE,
      "): build or install both together, or use --provider cpu"));
}
#endif

// "cuda" is device 0. Null: another provider's name.
std::optional<int> CudaDeviceOf(std::string_view name) {
  int device = 0;
  if (name == "cuda") return device;
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix) ||
      !absl::SimpleAtoi(std::string(name.substr(kPrefix.size())), &device))
    return std::nullopt;
  return device >= 0 && device < kMostDevices ? std::optional(device) : std::nullopt;
}

// Kernels by provider and op.
class KernelIndex {
 public:
  static KernelIndex& Get() {
    static auto* index = new KernelIndex();
    return *index;
  }

  std::vector<const KernelEntry*> Find(const ExecutionProvider& provider, std::string_view domain,
                                       std::string_view op) {
    std::lock_guard lock(mutex_);
    const auto [it, inserted] = own_.try_emplace(std::string(provider.name()));
    if (inserted) {
      for (const KernelEntry& entry : provider.kernels())
        it->second[{entry.domain, entry.op}].push_back(&entry);
    }
    std::vector<const KernelEntry*> found;
    const auto append = [&](const ByOp& kernels) {
      const auto entries = kernels.find({domain, op});
      if (entries == kernels.end()) return;
      found.insert(found.end(), entries->second.begin(), entries->second.end());
    };
    const auto added = added_.find(it->first);
    if (added != added_.end()) append(added->second);
    append(it->second);
    return found;
  }

  void Add(std::string_view provider, const KernelEntry& entry) {
    std::lock_guard lock(mutex_);
    entries_.push_back(
        {Keep(entry.domain), Keep(entry.op), Keep(entry.name), entry.make, entry.targets});
    const KernelEntry& kept = entries_.back();
    added_[std::string(provider)][{kept.domain, kept.op}].push_back(&kept);
  }

 private:
  // By domain and op; the entries hold the texts.
  using ByOp =
      std::map<std::pair<std::string_view, std::string_view>, std::vector<const KernelEntry*>>;

  std::string_view Keep(std::string_view text) { return texts_.emplace_back(text); }

  std::mutex mutex_;
  std::unordered_map<std::string, ByOp> own_, added_;  // by provider
  std::deque<KernelEntry> entries_;                    // of users, at stable addresses
  std::deque<std::string> texts_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<void>> AllocateOn(const ExecutionProvider& provider, int64_t bytes) {
  if (provider.is_host()) return provider.Allocate(bytes);  // which counts
  ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<void> counted, CountMemory(bytes, nullptr));
  ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<void> memory, provider.Allocate(bytes));
  void* data = memory.get();
  return std::shared_ptr<void>(data, [counted = std::move(counted), memory = std::move(memory)](
                                         void*) mutable { memory.reset(); });
}

std::vector<const KernelEntry*> FindKernels(const ExecutionProvider& provider,
                                            std::string_view domain, std::string_view op) {
  return KernelIndex::Get().Find(provider, domain, op);
}

void AddKernel(std::string_view provider, std::string_view domain, std::string_view op,
               std::string_view name, MakeKernel make) {
  KernelIndex::Get().Add(provider, {domain, op, name, make});
}

absl::Status CheckProviderName(std::string_view name) {
  if (name == "cpu" || CudaDeviceOf(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("unknown provider '", std::string(name),
                   "'; known: cpu, cuda, and cuda:1, a device by its number"));
}

absl::StatusOr<const ExecutionProvider*> FindProvider(std::string_view name,
                                                      [[maybe_unused]] bool plan_only) {
  if (name == "cpu") return &CpuProvider();
  ONWARD_RETURN_IF_ERROR(CheckProviderName(name));
#ifdef ONWARD_CUDA
  static const absl::StatusOr<CudaEntry> entry = LoadCudaProvider();
  ONWARD_RETURN_IF_ERROR(entry.status());
  const ExecutionProvider* provider = (*entry)(*CudaDeviceOf(name));
  if (!plan_only) ONWARD_RETURN_IF_ERROR(provider->CheckDevice());
  return provider;
#else
  return absl::UnimplementedError(
      "this build has no CUDA provider; build it on a machine with nvcc");
#endif
}

}  // namespace onward::executors
