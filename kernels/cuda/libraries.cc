#include "kernels/cuda/libraries.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/status.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

template <auto kCreate, auto kDestroy, typename Handle>
absl::Status GetHandle(Handle* handle) {
  struct Holder {
    Handle handle = nullptr;
    ~Holder() {
      if (handle != nullptr) kDestroy(handle);
    }
  };
  thread_local std::map<int, Holder> holders;  // by device
  int device = 0;
  ONWARD_RETURN_IF_ERROR(ToStatus(cudaGetDevice(&device)));
  Holder& holder = holders[device];
  if (holder.handle == nullptr) ONWARD_RETURN_IF_ERROR(LibraryStatus(kCreate(&holder.handle)));
  *handle = holder.handle;
  return absl::OkStatus();
}

}  // namespace

absl::Status LibraryStatus(cublasStatus_t error) {
  if (error == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cuBLASLt: ", cublasLtGetStatusString(error)));
}

absl::Status LibraryStatus(cudnnStatus_t error) {
  if (error == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  char reason[512] = {};
  cudnnGetLastErrorString(reason, sizeof(reason));
  const std::string message =
      absl::StrCat("cuDNN: ", cudnnGetErrorString(error), reason[0] == '\0' ? "" : "; ", reason);
  return CUDNN_STATUS_CATEGORY(error) == CUDNN_STATUS_NOT_SUPPORTED
             ? absl::UnimplementedError(message)
             : absl::InternalError(message);
}

absl::Status GetCublasLt(cublasLtHandle_t* handle) {
  return GetHandle<cublasLtCreate, cublasLtDestroy>(handle);
}

absl::Status GetCudnn(cudaStream_t stream, cudnnHandle_t* handle) {
  const absl::Status status = GetHandle<cudnnCreate, cudnnDestroy>(handle);
  return status.ok() ? LibraryStatus(cudnnSetStream(*handle, stream)) : status;
}

}  // namespace onward::kernels::cuda
