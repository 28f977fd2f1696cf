#include "onward/tensor.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/memory_limit.h"
#include "onward/status.h"

namespace onward {
namespace {

absl::StatusOr<std::shared_ptr<void>> AllocateBuffer(DType dtype, int64_t count) {
  return dtype == DType::kString ? AllocateStrings(count) : AllocateMemory(ByteSize(dtype, count));
}

}  // namespace

Tensor::Tensor(DType dtype, DimsView dims) : dtype_(dtype), dims_(dims.begin(), dims.end()) {
  absl::StatusOr<std::shared_ptr<void>> buffer = AllocateBuffer(dtype, NumElements(dims));
  if (!buffer.ok()) throw OutOfMemory(std::string(buffer.status().message()));
  buffer_ = *std::move(buffer);
  data_ = buffer_.get();
}

Tensor Tensor::Zeros(DType dtype, DimsView dims) {
  Tensor tensor(dtype, dims);
  if (dtype != DType::kString && tensor.num_elements() > 0)
    std::memset(tensor.raw_mutable_data(), 0, static_cast<size_t>(tensor.byte_size()));
  return tensor;
}

absl::StatusOr<Tensor> Tensor::Create(DType dtype, DimsView dims) {
  ONWARD_RETURN_IF_ERROR(CheckedByteSize(dtype, dims).status());
  absl::StatusOr<std::shared_ptr<void>> buffer = AllocateBuffer(dtype, NumElements(dims));
  if (!buffer.ok()) {
    return Annotate(buffer.status(), absl::StrCat("a tensor of shape ", DimsString(dims), ":"));
  }
  void* data = buffer->get();
  return Wrap(dtype, dims, data, *std::move(buffer));
}

Tensor Tensor::Wrap(DType dtype, DimsView dims, void* data, std::shared_ptr<void> owner,
                    Device device) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.device_ = device;
  tensor.dims_.assign(dims.begin(), dims.end());
  tensor.data_ = data;
  tensor.buffer_ = std::move(owner);
  return tensor;
}

Tensor Tensor::Reshaped(DimsView dims) const {
  Tensor tensor = *this;
  tensor.dims_.assign(dims.begin(), dims.end());
  return tensor;
}

Tensor Tensor::Clone() const { return empty() ? Tensor() : CopyOf(view()); }

Tensor CopyOf(const TensorView& view) {
  Tensor tensor(view.dtype, view.dims);
  CopyElements(view, tensor.view());
  return tensor;
}

void CopyElements(const TensorView& from, const TensorView& to) {
  if (from.data == to.data) return;
  if (from.dtype == DType::kString) {
    const int64_t count = from.num_elements();
    for (int64_t i = 0; i < count; ++i) to.as<std::string>()[i] = from.as<std::string>()[i];
    return;
  }
  if (const int64_t bytes = from.byte_size(); bytes > 0)
    std::memcpy(to.data, from.data, static_cast<size_t>(bytes));
}

std::vector<int64_t> ToInt64(const TensorView& view) {
  std::vector<int64_t> values(static_cast<size_t>(view.num_elements()));
  DispatchDType(Concat<IntegerTypes, TypeList<bool>>(), view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(view.as<T>()[i]);
  });
  return values;
}

bool SameBits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (a.empty()) return true;
  if (a.dtype() == DType::kString) return a.span<std::string>() == b.span<std::string>();
  return a.byte_size() == 0 ||
         std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.byte_size())) == 0;
}

}  // namespace onward
