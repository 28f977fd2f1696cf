#include "graph/base/tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"

namespace onward {
namespace {

std::shared_ptr<void> AllocateBuffer(DType dtype, int64_t count) {
  if (dtype == DType::kString) {
    auto* strings = new (std::nothrow) std::string[static_cast<size_t>(count)];
    return std::shared_ptr<void>(strings, [](void* p) { delete[] static_cast<std::string*>(p); });
  }
  const auto align = static_cast<int64_t>(kTensorAlignment);
  const int64_t bytes = (ByteSize(dtype, count) + align - 1) / align * align;
  void* memory =
      std::aligned_alloc(kTensorAlignment, static_cast<size_t>(bytes == 0 ? align : bytes));
  return std::shared_ptr<void>(memory, std::free);
}

}  // namespace

Tensor::Tensor(DType dtype, DimsView dims)
    : dtype_(dtype),
      dims_(dims.begin(), dims.end()),
      buffer_(AllocateBuffer(dtype, NumElements(dims))) {
  data_ = buffer_.get();
}

absl::StatusOr<Tensor> Tensor::Create(DType dtype, DimsView dims) {
  const absl::StatusOr<int64_t> bytes = CheckedByteSize(dtype, dims);
  if (!bytes.ok()) return bytes.status();
  if (*bytes > (int64_t{1} << 46)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a tensor of shape ", DimsString(dims), " needs ", *bytes, " bytes"));
  }
  Tensor tensor(dtype, dims);
  if (tensor.data_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "out of memory: a tensor of shape ", DimsString(dims), " needs ", *bytes, " bytes"));
  }
  return tensor;
}

Tensor Tensor::Wrap(DType dtype, DimsView dims, void* data, std::shared_ptr<void> owner) {
  Tensor tensor;
  tensor.dtype_ = dtype;
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
