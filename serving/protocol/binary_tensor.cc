#include "serving/protocol/binary_tensor.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/checked.h"
#include "onward/status.h"
#include "serving/protocol/datatype.h"

namespace onward::serving {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are copied as they are");

constexpr size_t kLengthBytes = 4;
constexpr uintptr_t kAlignment = 64;  // of tensors

absl::Status CheckSize(DType dtype, DimsView dims, std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t expected, CheckedByteSize(dtype, dims));
  if (static_cast<uint64_t>(expected) == bytes.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected ", expected, " bytes for ",
                                                 std::string(DatatypeName(dtype)), " ",
                                                 DimsString(dims), ", got ", bytes.size()));
}

absl::Status CheckBools(std::string_view bytes) {
  unsigned char seen = 0;
  for (const char byte : bytes) seen |= static_cast<unsigned char>(byte);
  if (seen <= 1) return absl::OkStatus();
  for (size_t i = 0;; ++i) {
    const int byte = static_cast<unsigned char>(bytes[i]);
    if (byte > 1)
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i, " of BOOL is ", byte, ", expected 0 or 1"));
  }
}

absl::StatusOr<Tensor> ReadStrings(DimsView dims, std::string_view bytes) {
  ONWARD_ASSIGN_OR_RETURN(const int64_t count, CheckedNumElements(dims));
  if (static_cast<uint64_t>(count) > bytes.size() / kLengthBytes)
    return absl::InvalidArgumentError(absl::StrCat("expected at least 4 bytes for each of ", count,
                                                   " elements of BYTES ", DimsString(dims),
                                                   ", got ", bytes.size()));
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kString, dims));
  for (int64_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (bytes.size() < kLengthBytes)
      return absl::InvalidArgumentError(absl::StrCat(
          "element ", i, " of BYTES has no length: ", bytes.size(), " bytes are left"));
    std::memcpy(&length, bytes.data(), kLengthBytes);
    bytes.remove_prefix(kLengthBytes);
    if (length > bytes.size())
      return absl::InvalidArgumentError(absl::StrCat("element ", i, " of BYTES says that it has ",
                                                     length, " bytes: ", bytes.size(),
                                                     " are left"));
    tensor.mutable_data<std::string>()[i].assign(bytes.data(), length);
    bytes.remove_prefix(length);
  }
  if (bytes.empty()) return tensor;
  return absl::InvalidArgumentError(absl::StrCat(bytes.size(), " bytes are left after ", count,
                                                 " elements of BYTES ", DimsString(dims)));
}

}  // namespace

absl::StatusOr<Tensor> ReadBinaryTensor(DType dtype, DimsView dims, std::string_view bytes,
                                        const std::shared_ptr<const void>& owner) {
  if (dtype == DType::kString) return ReadStrings(dims, bytes);
  ONWARD_RETURN_IF_ERROR(CheckSize(dtype, dims, bytes));
  if (dtype == DType::kBool) ONWARD_RETURN_IF_ERROR(CheckBools(bytes));
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment == 0;
  if (owner != nullptr && aligned && !bytes.empty())
    return Tensor::Wrap(dtype, dims, const_cast<char*>(bytes.data()),
                        std::const_pointer_cast<void>(owner));
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, dims));
  if (!bytes.empty()) std::memcpy(tensor.raw_mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

absl::StatusOr<std::string> LengthPrefixed(const Tensor& tensor) {
  size_t total = 0;
  for (const std::string& element : tensor.span<std::string>()) {
    if (element.size() > std::numeric_limits<uint32_t>::max())
      return absl::FailedPreconditionError("an element of BYTES has 4 GiB or more");
    total += kLengthBytes + element.size();
  }
  std::string bytes;
  bytes.reserve(total);
  for (const std::string& element : tensor.span<std::string>()) {
    const auto length = static_cast<uint32_t>(element.size());
    bytes.append(reinterpret_cast<const char*>(&length), kLengthBytes);
    bytes += element;
  }
  return bytes;
}

}  // namespace onward::serving
