#include "serving/repository/model_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "onward/status.h"
#include "serving/http/framing.h"
#include "serving/protocol/binary_tensor.h"

namespace onward::serving {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = 64 << 20;

// Returns whether `file` is below `directory` once links are followed.
bool LiesBelow(const fs::path& file, const fs::path& directory) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return false;
  const fs::path root = fs::canonical(directory, error);
  if (error) return false;
  const auto [end, ignored] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  return end == root.end();
}

}  // namespace

absl::StatusOr<std::string> ReadModelFile(const std::string& directory, const std::string& name,
                                          const std::string& field) {
  const auto wrong = [&](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": '", name, "' ", why));
  };
  for (const auto part : absl::StrSplit(name, '/')) {
    if (part.empty() || !CanBeSegment({part.data(), part.size()}))
      return wrong("is not a file in the model's directory");
  }
  const fs::path path = fs::path(directory) / name;
  std::error_code error;
  const bool regular = fs::is_regular_file(path, error);
  if (error || !regular)
    return absl::NotFoundError(
        absl::StrCat(field, ": the model's directory has no file '", name, "'"));
  if (!LiesBelow(path, directory)) return wrong("leads out of the model's directory");
  if (fs::file_size(path, error) > kMostBytes || error)
    return wrong(absl::StrCat("has more than ", kMostBytes, " bytes"));
  std::ifstream file(path, std::ios::binary);
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

absl::StatusOr<Tensor> ReadModelTensor(const std::string& directory, const std::string& name,
                                       const std::string& field, DType dtype, DimsView dims) {
  ONWARD_ASSIGN_OR_RETURN(const std::string bytes, ReadModelFile(directory, name, field));
  absl::StatusOr<Tensor> tensor = ReadBinaryTensor(dtype, dims, bytes);
  if (tensor.ok()) return tensor;
  return Annotate(tensor.status(), absl::StrCat(field, ": '", name, "':"));
}

absl::StatusOr<Tensor> RepeatRow(const Tensor& row, int64_t rows) {
  Dims dims = {rows};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  ONWARD_ASSIGN_OR_RETURN(Tensor batch, Tensor::Create(row.dtype(), dims));
  const int64_t count = row.num_elements();
  for (int64_t i = 0; i < rows; ++i) {
    if (row.dtype() == DType::kString) {
      std::copy_n(row.data<std::string>(), count, batch.mutable_data<std::string>() + i * count);
    } else {
      const auto size = static_cast<size_t>(row.byte_size());
      std::copy_n(static_cast<const char*>(row.raw_data()), size,
                  static_cast<char*>(batch.raw_mutable_data()) + static_cast<size_t>(i) * size);
    }
  }
  return batch;
}

}  // namespace onward::serving
