#include "kernels/cuda/libraries.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/status.h"
#include "onward/status.h"

namespace onward::kernels::cuda {
namespace {

absl::StatusOr<int> CurrentDevice() {
  int device = 0;
  ONWARD_RETURN_IF_ERROR(ToStatus(cudaGetDevice(&device)));
  return device;
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
  struct Holder {
    cublasLtHandle_t handle = nullptr;
    ~Holder() {
      if (handle != nullptr) cublasLtDestroy(handle);
    }
  };
  thread_local std::map<int, Holder> holders;
  ONWARD_ASSIGN_OR_RETURN(const int device, CurrentDevice());
  Holder& holder = holders[device];
  if (holder.handle == nullptr)
    ONWARD_RETURN_IF_ERROR(LibraryStatus(cublasLtCreate(&holder.handle)));
  *handle = holder.handle;
  return absl::OkStatus();
}

absl::Status GetCudnn(cudaStream_t stream, cudnnHandle_t* handle) {
  struct Holder {
    cudnnHandle_t handle = nullptr;
    ~Holder() {
      if (handle != nullptr) cudnnDestroy(handle);
    }
  };
  thread_local std::map<int, Holder> holders;
  ONWARD_ASSIGN_OR_RETURN(const int device, CurrentDevice());
  Holder& holder = holders[device];
  if (holder.handle == nullptr) ONWARD_RETURN_IF_ERROR(LibraryStatus(cudnnCreate(&holder.handle)));
  *handle = holder.handle;
  return LibraryStatus(cudnnSetStream(holder.handle, stream));
}

}  // namespace onward::kernels::cuda
