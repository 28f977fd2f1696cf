#include "onward/dlpack.h"

#include <dlpack/dlpack.h>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executors/device_tensor.h"
#include "executors/provider.h"
#include "graph/base/checked.h"
#include "onward/status.h"

namespace onward {
namespace {

constexpr uint8_t kBool = 6;  // kDLBool of DLPack 0.8

struct ElementType {
  DType dtype;
  uint8_t code, bits;
};

constexpr ElementType kElementTypes[] = {
    {DType::kBool, kBool, 8},
    {DType::kInt8, kDLInt, 8},
    {DType::kInt16, kDLInt, 16},
    {DType::kInt32, kDLInt, 32},
    {DType::kInt64, kDLInt, 64},
    {DType::kUint8, kDLUInt, 8},
    {DType::kUint16, kDLUInt, 16},
    {DType::kUint32, kDLUInt, 32},
    {DType::kUint64, kDLUInt, 64},
    {DType::kFloat16, kDLFloat, 16},
    {DType::kFloat32, kDLFloat, 32},
    {DType::kFloat64, kDLFloat, 64},
    {DType::kBFloat16, kDLBfloat, 16},
    {DType::kComplex64, kDLComplex, 64},
    {DType::kComplex128, kDLComplex, 128},
};

std::optional<DLDataType> TypeOf(DType dtype) {
  for (const ElementType& each : kElementTypes)
    if (each.dtype == dtype) return DLDataType{each.code, each.bits, 1};
  return std::nullopt;
}

absl::StatusOr<DType> DTypeOf(DLDataType type) {
  for (const ElementType& each : kElementTypes)
    if (each.code == type.code && each.bits == type.bits && type.lanes == 1) return each.dtype;
  return absl::UnimplementedError(absl::StrCat("DLPack's elements of code ", int{type.code}, ", ",
                                               int{type.bits}, " bits and ", int{type.lanes},
                                               " lanes are not elements of tensors here"));
}

absl::StatusOr<Device> DeviceOf(DLDevice device) {
  if (device.device_type == kDLCPU || device.device_type == kDLCUDAHost) return Device();
  if (device.device_type == kDLCUDA && device.device_id >= 0 &&
      device.device_id < executors::kMostDevices)
    return Device{Device::Kind::kCuda, static_cast<uint8_t>(device.device_id)};
  return absl::UnimplementedError(absl::StrCat("DLPack's device ", int{device.device_id},
                                               " of kind ", int{device.device_type},
                                               " is neither the host nor a CUDA device"));
}

std::vector<int64_t> RowStrides(DimsView dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
  return strides;
}

// Returns whether the elements lie in rows without gaps.
bool IsCompact(const DLTensor& tensor, DimsView dims) {
  if (tensor.strides == nullptr) return true;
  const std::vector<int64_t> strides = RowStrides(dims);
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] > 1 && tensor.strides[i] != strides[i]) return false;
  return true;
}

// Copies elements of any strides, on the host.
Tensor Gathered(const DLTensor& from, const std::byte* data, DType dtype, DimsView dims) {
  Tensor tensor(dtype, dims);
  const auto size = static_cast<int64_t>(from.dtype.bits / 8);
  const std::vector<int64_t> rows = RowStrides(dims);
  auto* out = static_cast<std::byte*>(tensor.raw_mutable_data());
  for (int64_t i = 0; i < NumElements(dims); ++i) {
    int64_t at = 0, rest = i;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const int64_t stride = from.strides == nullptr ? rows[axis] : from.strides[axis];
      at += rest / rows[axis] * stride;
      rest %= rows[axis];
    }
    std::memcpy(out + i * size, data + at * size, static_cast<size_t>(size));
  }
  return tensor;
}

void Free(DLManagedTensor* shared) {
  if (shared->deleter != nullptr) shared->deleter(shared);
}

// The tensor and the dims that a DLManagedTensor made here refers to.
struct Export {
  Tensor tensor;
  std::vector<int64_t> shape, strides;
  DLManagedTensor managed;
};

}  // namespace

absl::StatusOr<DLManagedTensor*> ToDLPack(const Tensor& tensor) {
  const std::optional<DLDataType> type = TypeOf(tensor.dtype());
  if (!type) {
    return absl::UnimplementedError(
        absl::StrCat("DLPack has no elements of type ", std::string(DTypeName(tensor.dtype()))));
  }
  auto made = std::make_unique<Export>();
  made->tensor = tensor;
  made->shape.assign(tensor.dims().begin(), tensor.dims().end());
  made->strides = RowStrides(tensor.dims());
  DLTensor& to = made->managed.dl_tensor;
  to.data = const_cast<void*>(tensor.raw_data());
  to.device =
      tensor.device().is_host() ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, tensor.device().index};
  to.ndim = static_cast<int>(made->shape.size());
  to.dtype = *type;
  to.shape = made->shape.data();
  to.strides = made->strides.data();
  to.byte_offset = 0;
  made->managed.manager_ctx = made.get();
  made->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Export*>(self->manager_ctx);
  };
  return &made.release()->managed;
}

absl::StatusOr<Tensor> FromDLPack(DLManagedTensor* shared) {
  const DLTensor& from = shared->dl_tensor;
  ONWARD_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(from.dtype));
  ONWARD_ASSIGN_OR_RETURN(const Device device, DeviceOf(from.device));
  if (from.ndim < 0 || (from.ndim > 0 && from.shape == nullptr))
    return absl::InvalidArgumentError("DLPack's tensor has no shape");
  const Dims dims(from.shape, from.shape + from.ndim);
  ONWARD_ASSIGN_OR_RETURN(const int64_t bytes, CheckedByteSize(dtype, dims));
  if (bytes > 0 && from.data == nullptr)
    return absl::InvalidArgumentError("DLPack's tensor has elements, and no memory");
  if (bytes == 0) {
    Free(shared);
    return Tensor::Create(dtype, dims);
  }
  std::byte* const data = static_cast<std::byte*>(from.data) + from.byte_offset;
  const bool compact = IsCompact(from, dims);
  const bool aligned = reinterpret_cast<uintptr_t>(data) % kTensorAlignment == 0;
  if (compact && aligned) {
    return Tensor::Wrap(dtype, dims, data,
                        std::shared_ptr<void>(data, [shared](void*) { Free(shared); }), device);
  }
  if (!device.is_host()) {
    return absl::UnimplementedError(
        absl::StrCat("DLPack's tensor on ", DeviceName(device), " ",
                     compact ? absl::StrCat("is not aligned to ", kTensorAlignment, " bytes")
                             : "has gaps between its elements",
                     ": copy it there first"));
  }
  Tensor copied = Gathered(from, data, dtype, dims);
  Free(shared);
  return copied;
}

}  // namespace onward
