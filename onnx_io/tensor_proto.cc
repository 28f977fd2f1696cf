#include "onnx_io/tensor_proto.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/external_data.h"
#include "onward/memory_limit.h"
#include "onward/status.h"

namespace onward::onnx_io {
namespace {

using onnx::TensorProto;

// The typed field that holds the elements of a dtype.
enum class Field { kFloat, kInt32, kInt64, kUint64, kDouble, kString };

Field FieldOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kComplex64:
      return Field::kFloat;
    case DType::kFloat64:
    case DType::kComplex128:
      return Field::kDouble;
    case DType::kInt64:
      return Field::kInt64;
    case DType::kUint32:
    case DType::kUint64:
      return Field::kUint64;
    case DType::kString:
      return Field::kString;
    default:
      return Field::kInt32;
  }
}

int64_t FieldSize(const TensorProto& proto, Field field) {
  switch (field) {
    case Field::kFloat:
      return proto.float_data_size();
    case Field::kInt32:
      return proto.int32_data_size();
    case Field::kInt64:
      return proto.int64_data_size();
    case Field::kUint64:
      return proto.uint64_data_size();
    case Field::kDouble:
      return proto.double_data_size();
    case Field::kString:
      return proto.string_data_size();
  }
  return 0;
}

constexpr std::string_view kFieldNames[] = {"float_data",  "int32_data",  "int64_data",
                                            "uint64_data", "double_data", "string_data"};

// Entries that a typed field needs for `count` elements: packed bytes (but whole codes of 6 bits),
// halves of complex numbers.
int64_t FieldEntries(DType dtype, int64_t count) {
  if (IsSubByte(dtype) && BitSize(dtype) != 6) return ByteSize(dtype, count);
  return dtype == DType::kComplex64 || dtype == DType::kComplex128 ? 2 * count : count;
}

absl::Status CheckFields(const TensorProto& proto, DType dtype, int64_t count) {
  const Field own = FieldOf(dtype);
  for (const Field field : {Field::kFloat, Field::kInt32, Field::kInt64, Field::kUint64,
                            Field::kDouble, Field::kString}) {
    if (field != own && FieldSize(proto, field) > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dtype ", std::string(DTypeName(dtype)), " cannot be stored in ",
                       std::string(kFieldNames[static_cast<int>(field)])));
    }
  }
  const int64_t needed = FieldEntries(dtype, count);
  if (FieldSize(proto, own) == needed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(kFieldNames[static_cast<int>(own)]), " has ", FieldSize(proto, own),
      " values, shape ", DimsString({proto.dims().data(), static_cast<size_t>(proto.dims_size())}),
      " of ", std::string(DTypeName(dtype)), " needs ", needed));
}

// Stores the low `bytes` bytes of each value; each must fit as a signed or unsigned number.
template <typename Values>
absl::Status StoreIntegers(const Values& values, DType dtype, int bytes, uint8_t* out) {
  const int bits = 8 * bytes;
  for (int i = 0; i < values.size(); ++i) {
    const auto value = static_cast<int64_t>(values[i]);
    if (bits < 64 && (value < -(int64_t{1} << (bits - 1)) || value >= (int64_t{1} << bits))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "element ", i, " with value ", value, " does not fit ", std::string(DTypeName(dtype))));
    }
    std::memcpy(out + static_cast<size_t>(i) * static_cast<size_t>(bytes), &value,
                static_cast<size_t>(bytes));
  }
  return absl::OkStatus();
}

// One code of 6 bits per value.
absl::Status StoreSixBits(const TensorProto& proto, DType dtype, uint8_t* out) {
  std::vector<int8_t> codes(static_cast<size_t>(proto.int32_data_size()));
  for (size_t i = 0; i < codes.size(); ++i) {
    const int32_t value = proto.int32_data(static_cast<int>(i));
    if (value < 0 || value > 0x3f) {
      return absl::InvalidArgumentError(absl::StrCat(
          "element ", i, " with value ", value, " does not fit ", std::string(DTypeName(dtype))));
    }
    codes[i] = static_cast<int8_t>(value);
  }
  PackSubByte(dtype, codes.data(), static_cast<int64_t>(codes.size()), out);
  return absl::OkStatus();
}

absl::Status StoreTyped(const TensorProto& proto, DType dtype, Tensor& tensor) {
  auto* out = static_cast<uint8_t*>(tensor.raw_mutable_data());
  const int bytes = IsSubByte(dtype) ? 1 : BitSize(dtype) / 8;
  const auto size = static_cast<size_t>(tensor.byte_size());
  switch (FieldOf(dtype)) {
    case Field::kFloat:
      if (size > 0) std::memcpy(out, proto.float_data().data(), size);
      return absl::OkStatus();
    case Field::kDouble:
      if (size > 0) std::memcpy(out, proto.double_data().data(), size);
      return absl::OkStatus();
    case Field::kInt64:
      if (size > 0) std::memcpy(out, proto.int64_data().data(), size);
      return absl::OkStatus();
    case Field::kUint64:
      return StoreIntegers(proto.uint64_data(), dtype, bytes, out);
    case Field::kInt32:
      if (BitSize(dtype) == 6) return StoreSixBits(proto, dtype, out);
      return StoreIntegers(proto.int32_data(), dtype, bytes, out);
    case Field::kString:
      std::copy(proto.string_data().begin(), proto.string_data().end(),
                tensor.mutable_data<std::string>());
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

// Bits of the last byte that no element of a packed tensor uses.
uint8_t PaddingMask(DType dtype, int64_t count) {
  const int64_t used = count * BitSize(dtype) % 8;
  return used == 0 ? 0 : static_cast<uint8_t>(0xff << used);
}

// Returns whether every bool byte is 0 or 1 and unused bits are zero, as kernels expect.
bool IsCanonical(DType dtype, std::string_view bytes, int64_t count) {
  if (dtype == DType::kBool) {
    return std::all_of(bytes.begin(), bytes.end(),
                       [](char byte) { return static_cast<uint8_t>(byte) <= 1; });
  }
  return !IsSubByte(dtype) || bytes.empty() ||
         (static_cast<uint8_t>(bytes.back()) & PaddingMask(dtype, count)) == 0;
}

void MakeCanonical(Tensor& tensor) {
  auto* bytes = static_cast<uint8_t*>(tensor.raw_mutable_data());
  const int64_t size = tensor.byte_size();
  if (tensor.dtype() == DType::kBool) {
    for (int64_t i = 0; i < size; ++i) bytes[i] = bytes[i] != 0;
  } else if (IsSubByte(tensor.dtype()) && size > 0) {
    bytes[size - 1] &= static_cast<uint8_t>(~PaddingMask(tensor.dtype(), tensor.num_elements()));
  }
}

// A tensor of little-endian fixed-width bytes: in place when `owner` keeps them and they are
// aligned, else a copy.
absl::StatusOr<Tensor> FromBytes(DType dtype, DimsView dims, std::string_view bytes,
                                 std::shared_ptr<void> owner, bool mapped) {
  const bool canonical = IsCanonical(dtype, bytes, NumElements(dims));
  if (owner != nullptr && canonical && !bytes.empty() &&
      reinterpret_cast<uintptr_t>(bytes.data()) % kTensorAlignment == 0) {
    if (mapped) {
      ONWARD_ASSIGN_OR_RETURN(owner,
                              CountMemory(static_cast<int64_t>(bytes.size()), std::move(owner)));
    }
    return Tensor::Wrap(dtype, dims, const_cast<char*>(bytes.data()), std::move(owner));
  }
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
  // In pieces, so that a large tensor is not in memory twice.
  constexpr size_t kPiece = size_t{4} << 20;
  auto* to = static_cast<char*>(tensor.raw_mutable_data());
  for (size_t i = 0; i < bytes.size(); i += kPiece) {
    const std::string_view piece = bytes.substr(i, kPiece);
    std::memcpy(to + i, piece.data(), piece.size());
    if (mapped) files::ReleasePages(piece);
  }
  if (!canonical) MakeCanonical(tensor);
  return tensor;
}

absl::Status CheckRawSize(DimsView dims, DType dtype, int64_t needed, int64_t size) {
  if (dtype == DType::kString) {
    return absl::InvalidArgumentError("strings cannot be stored as raw bytes");
  }
  if (size == needed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("raw_data has ", size, " bytes, shape ",
                                                 DimsString(dims), " of ",
                                                 std::string(DTypeName(dtype)), " needs ", needed));
}

absl::StatusOr<Tensor> FromPayload(const TensorProto& proto, DType dtype, DimsView dims,
                                   int64_t needed, const TensorSource& source) {
  const int64_t begin = proto.segment().begin();
  const int64_t end = proto.segment().end();
  if (begin < 0 || end < begin || end > static_cast<int64_t>(source.payloads.size())) {
    return absl::InvalidArgumentError("tensors stored in segments are not part of the standard");
  }
  ONWARD_RETURN_IF_ERROR(CheckRawSize(dims, dtype, needed, end - begin));
  return FromBytes(
      dtype, dims,
      source.payloads.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
      source.owner, source.mapped);
}

absl::StatusOr<Tensor> FromExternal(const TensorProto& proto, DType dtype, DimsView dims,
                                    int64_t needed, const TensorSource& source) {
  if (dtype == DType::kString) {
    return absl::InvalidArgumentError("strings cannot be stored as external data");
  }
  absl::StatusOr<ExternalBytes> found = FindExternalBytes(proto, needed, source.files);
  if (!found.ok()) {
    if (!source.allow_missing_files) return found.status();
    return Tensor::Wrap(dtype, dims, nullptr, nullptr);
  }
  if (!source.read_files) return FromBytes(dtype, dims, found->bytes, found->file, true);
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
  const auto offset = static_cast<size_t>(found->bytes.data() - found->file->bytes().data());
  ONWARD_RETURN_IF_ERROR(found->file->Read(offset, found->bytes.size(),
                                           static_cast<char*>(tensor.raw_mutable_data())));
  MakeCanonical(tensor);
  return tensor;
}

}  // namespace

absl::StatusOr<DType> DTypeFromProto(int32_t data_type) {
  if (data_type > 0 && data_type < kNumDTypes) return static_cast<DType>(data_type);
  return absl::InvalidArgumentError(
      absl::StrCat("dtype ", data_type, " is not one of TensorProto.DataType"));
}

absl::StatusOr<Tensor> TensorFromProto(const TensorProto& proto, const TensorSource& source) {
  ONWARD_ASSIGN_OR_RETURN(const DType dtype, DTypeFromProto(proto.data_type()));
  const DimsView dims(proto.dims().data(), static_cast<size_t>(proto.dims_size()));
  if (static_cast<int64_t>(dims.size()) > source.max_rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", dims.size(), " is above the limit of ", source.max_rank));
  }
  ONWARD_ASSIGN_OR_RETURN(const int64_t needed, CheckedByteSize(dtype, dims));
  if (proto.data_location() == TensorProto::EXTERNAL) {
    return FromExternal(proto, dtype, dims, needed, source);
  }
  if (proto.has_segment()) return FromPayload(proto, dtype, dims, needed, source);
  if (proto.has_raw_data()) {
    ONWARD_RETURN_IF_ERROR(
        CheckRawSize(dims, dtype, needed, static_cast<int64_t>(proto.raw_data().size())));
    return FromBytes(dtype, dims, proto.raw_data(), nullptr, false);
  }
  ONWARD_RETURN_IF_ERROR(CheckFields(proto, dtype, NumElements(dims)));
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
  ONWARD_RETURN_IF_ERROR(StoreTyped(proto, dtype, tensor));
  if (dtype == DType::kBool || IsSubByte(dtype)) MakeCanonical(tensor);
  return tensor;
}

void TensorToProto(const Tensor& tensor, std::string_view name, TensorProto* proto) {
  proto->Clear();
  proto->set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) proto->add_dims(dim);
  if (!name.empty()) proto->set_name(std::string(name));
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.span<std::string>()) proto->add_string_data(text);
  } else if (tensor.byte_size() > 0) {
    proto->set_raw_data(tensor.raw_data(), static_cast<size_t>(tensor.byte_size()));
  } else {
    proto->set_raw_data("");
  }
}

}  // namespace onward::onnx_io
