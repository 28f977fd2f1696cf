#include "files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "files/file_kind.h"
#include "files/mapped_file.h"
#include "files/safetensors_header.h"
#include "files/utf8.h"
#include "files/write_file.h"
#include "onward/memory_limit.h"
#include "onward/status.h"

namespace onward::files {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;
constexpr size_t kLengthBytes = 8;

absl::StatusOr<Tensor> ReadEntry(const SafetensorsEntry& entry, std::string_view bytes,
                                 const std::shared_ptr<MappedFile>& file) {
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % kTensorAlignment == 0;
  if (aligned && !bytes.empty() && entry.dtype != DType::kBool) {
    ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<void> owner,
                            CountMemory(static_cast<int64_t>(bytes.size()), file));
    return Tensor::Wrap(entry.dtype, entry.dims, const_cast<char*>(bytes.data()), std::move(owner));
  }
  ONWARD_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(entry.dtype, entry.dims));
  auto* to = static_cast<uint8_t*>(tensor.raw_mutable_data());
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  // A bool that is neither 0 nor 1 is not a bool to C++.
  if (entry.dtype == DType::kBool)
    for (size_t i = 0; i < bytes.size(); ++i) to[i] = to[i] != 0;
  return tensor;
}

absl::StatusOr<Safetensors> Parse(const std::shared_ptr<MappedFile>& file) {
  const std::string_view bytes = file->bytes();
  if (bytes.size() < kLengthBytes)
    return absl::InvalidArgumentError("not a safetensors file: shorter than 8 bytes");
  uint64_t length;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeader || length > bytes.size() - kLengthBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a safetensors file, or a truncated one: a header of ", length,
                     " bytes in a file of ", bytes.size()));
  }
  const std::string_view data = bytes.substr(kLengthBytes + length);
  ONWARD_ASSIGN_OR_RETURN(const SafetensorsHeader header,
                          ParseSafetensorsHeader(bytes.substr(kLengthBytes, length),
                                                 static_cast<int64_t>(data.size())));
  Safetensors result;
  result.metadata = header.metadata;
  for (const SafetensorsEntry& entry : header.entries) {
    const auto begin = static_cast<size_t>(entry.begin), end = static_cast<size_t>(entry.end);
    ONWARD_ASSIGN_OR_RETURN(result.tensors[entry.name],
                            ReadEntry(entry, data.substr(begin, end - begin), file));
  }
  return result;
}

using Order = std::vector<const std::pair<const std::string, Tensor>*>;

absl::StatusOr<Order> InFileOrder(const std::map<std::string, Tensor>& tensors) {
  Order order;
  for (const auto& entry : tensors) {
    const auto& [name, tensor] = entry;
    absl::Status status;
    if (SafetensorsOrder(tensor.dtype()) < 0) {
      status = absl::InvalidArgumentError(
          absl::StrCat("safetensors has no dtype ", std::string(DTypeName(tensor.dtype()))));
    } else if (!IsUtf8(name)) {
      status = absl::InvalidArgumentError("the name is not UTF-8");
    } else if (tensor.num_elements() * BitSize(tensor.dtype()) % 8 != 0) {
      status = absl::InvalidArgumentError("the last element ends within a byte");
    }
    if (!status.ok()) return Annotate(status, absl::StrCat("'", PrintableUtf8(name), "':"));
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return SafetensorsOrder(a->second.dtype()) > SafetensorsOrder(b->second.dtype());
  });
  return order;
}

absl::StatusOr<std::string> MakeHeader(const Safetensors& file, const Order& order) {
  std::string text = "{";
  if (!file.metadata.empty()) {
    for (const auto& [key, value] : file.metadata) {
      if (!IsUtf8(key) || !IsUtf8(value))
        return absl::InvalidArgumentError("metadata is not UTF-8");
    }
    absl::StrAppend(&text, "\"__metadata__\":", nlohmann::json(file.metadata).dump(), ",");
  }
  int64_t offset = 0;
  for (const auto* entry : order) {
    const Tensor& tensor = entry->second;
    const int64_t end = offset + tensor.byte_size();
    absl::StrAppend(&text, nlohmann::json(entry->first).dump(), ":{\"dtype\":\"",
                    std::string(SafetensorsName(tensor.dtype())),
                    "\",\"shape\":", DimsString(tensor.dims()), ",\"data_offsets\":[", offset, ",",
                    end, "]},");
    offset = end;
  }
  if (text.size() > 1) text.pop_back();
  text += "}";
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  if (text.size() > kMaxHeader)
    return absl::InvalidArgumentError("the header has more than 100 MB");
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + text;
}

}  // namespace

absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path) {
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<MappedFile> file,
                          MappedFile::Open(path, MappedFile::Writes::kPrivate));
  absl::StatusOr<Safetensors> result = Parse(file);
  if (!result.ok())
    return Annotate(NameForeignFile(result.status(), file->bytes(), WantedFile::kWeights),
                    absl::StrCat("'", path, "':"));
  return result;
}

absl::Status WriteSafetensors(const Safetensors& file,
                              absl::FunctionRef<absl::Status(std::string_view)> append) {
  if (file.tensors.count("__metadata__") > 0)
    return absl::InvalidArgumentError("'__metadata__' cannot be the name of a tensor");
  ONWARD_ASSIGN_OR_RETURN(const Order order, InFileOrder(file.tensors));
  ONWARD_ASSIGN_OR_RETURN(const std::string header, MakeHeader(file, order));
  ONWARD_RETURN_IF_ERROR(append(header));
  for (const auto* entry : order) {
    const Tensor& tensor = entry->second;
    ONWARD_RETURN_IF_ERROR(append(
        {static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.byte_size())}));
  }
  return absl::OkStatus();
}

absl::Status WriteSafetensors(const Safetensors& file, const std::string& path) {
  ONWARD_ASSIGN_OR_RETURN(AtomicFile out, AtomicFile::Create(path));
  ONWARD_RETURN_IF_ERROR(
      WriteSafetensors(file, [&out](std::string_view bytes) { return out.Append(bytes); }));
  return out.Commit();
}

}  // namespace onward::files
