#if __has_include(<nccl.h>)

#include "kernels/cuda/nccl_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

template <typename Function>
absl::Status Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("libnccl.so.2 has no ", name, ": NCCL 2.14 or a later one is needed"));
}

absl::StatusOr<Nccl> Load() {
  void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("NCCL cannot be loaded (", dlerror(),
                     "): install it, or have the directory of libnccl.so.2 in LD_LIBRARY_PATH"));
  }
  Nccl nccl;
  ONWARD_RETURN_IF_ERROR(Find(library, "ncclGetUniqueId", nccl.GetUniqueId));
  ONWARD_RETURN_IF_ERROR(Find(library, "ncclCommInitRankConfig", nccl.CommInitRankConfig));
  ONWARD_RETURN_IF_ERROR(Find(library, "ncclCommGetAsyncError", nccl.CommGetAsyncError));
  ONWARD_RETURN_IF_ERROR(Find(library, "ncclAllReduce", nccl.AllReduce));
  ONWARD_RETURN_IF_ERROR(Find(library, "ncclBroadcast", nccl.Broadcast));
  ONWARD_RETURN_IF_ERROR(Find(library, "ncclCommAbort", nccl.CommAbort));
  ONWARD_RETURN_IF_ERROR(Find(library, "ncclCommDestroy", nccl.CommDestroy));
  ONWARD_RETURN_IF_ERROR(Find(library, "ncclGetErrorString", nccl.GetErrorString));
  return nccl;
}

}  // namespace

absl::Status Nccl::StatusOf(ncclResult_t result) const {
  if (result == ncclSuccess || result == ncclInProgress) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("NCCL: ", GetErrorString(result)));
}

absl::StatusOr<const Nccl*> LoadNccl() {
  static const absl::StatusOr<Nccl> nccl = Load();
  if (!nccl.ok()) return nccl.status();
  return &*nccl;
}

}  // namespace onward::kernels::cuda

#endif
