// A descriptor of cuDNN's graph API that frees itself.
#pragma once

#include <utility>

#include "absl/types/span.h"
#include "kernels/cuda/libraries.h"
#include "onward/status.h"

namespace onward::kernels::cuda {

// Keeps the first error of its calls, which Finalize returns.
class BackendDescriptor {
 public:
  BackendDescriptor() = default;
  explicit BackendDescriptor(cudnnBackendDescriptorType_t type)
      : status_(LibraryStatus(cudnnBackendCreateDescriptor(type, &descriptor_))) {}
  BackendDescriptor(BackendDescriptor&& other) noexcept { *this = std::move(other); }
  BackendDescriptor& operator=(BackendDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(status_, other.status_);
    return *this;
  }
  ~BackendDescriptor() {
    if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  template <typename T>
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           absl::Span<const T> values) {
    if (!status_.ok()) return;
    status_ = LibraryStatus(cudnnBackendSetAttribute(
        descriptor_, name, type, static_cast<int64_t>(values.size()), values.data()));
  }
  template <typename T>
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    Set(name, type, absl::Span<const T>(&value, 1));
  }
  void Set(cudnnBackendAttributeName_t name, const BackendDescriptor& value) {
    Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.descriptor_);
  }

  absl::Status Finalize() {
    if (status_.ok()) status_ = LibraryStatus(cudnnBackendFinalize(descriptor_));
    return status_;
  }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  absl::Status status_;
};

}  // namespace onward::kernels::cuda
