#include "training/data/data_identity.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "graph/base/crc32c.h"
#include "training/config/config_differences.h"

namespace onward::training {
namespace {

namespace fs = std::filesystem;

// Bytes that are read whole; a training reads its data more than once.
constexpr uint64_t kWhole = uint64_t{4} << 30;
constexpr uint64_t kSamples = 4096, kSampleBytes = 64 << 10;
// The limits of a directory, which costs an open for each file.
constexpr uint64_t kWholeDirectory = uint64_t{1} << 30, kFiles = 20000;
constexpr size_t kPiece = 1 << 20;

uint32_t ChecksumOf(const fs::path& path, uint64_t size, uint32_t checksum = 0) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(static_cast<size_t>(std::min<uint64_t>(size, kPiece)), '\0');
  const auto add = [&](uint64_t count) {
    file.read(bytes.data(), static_cast<std::streamsize>(count));
    checksum = Crc32c({bytes.data(), static_cast<size_t>(file.gcount())}, checksum);
  };
  if (size <= kWhole) {
    for (uint64_t done = 0; done < size && file; done += kPiece)
      add(std::min<uint64_t>(kPiece, size - done));
    return checksum;
  }
  // The first and the last bytes are among them.
  for (uint64_t i = 0; i < kSamples; ++i) {
    const uint64_t begin =
        i + 1 == kSamples ? size - kSampleBytes : (size - kSampleBytes) / (kSamples - 1) * i;
    file.seekg(static_cast<std::streamoff>(begin));
    add(kSampleBytes);
  }
  return checksum;
}

// Names, sizes and bytes; of data sets that are too large to be read, the bytes of files that lie
// evenly among the others.
std::string DirectoryContents(const fs::path& path) {
  std::vector<std::pair<std::string, uint64_t>> files;
  uint64_t bytes = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(path, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code no_size;
    if (!it->is_regular_file(no_size)) continue;
    const uint64_t size = it->file_size(no_size);
    bytes += size;
    files.emplace_back(it->path().lexically_relative(path).generic_string(), size);
  }
  std::sort(files.begin(), files.end());
  const uint64_t count = files.size();
  const uint64_t most = std::max<uint64_t>(
      1, bytes <= kWholeDirectory ? kFiles
                                  : std::min(kFiles, count * (kWholeDirectory >> 10) /
                                                         std::max<uint64_t>(1, bytes >> 10)));
  uint32_t checksum = 0;
  for (const auto& [name, size] : files) checksum = Crc32c(absl::StrCat(name, " ", size), checksum);
  const uint64_t read = std::min(most, count);
  for (uint64_t i = 0; i < read; ++i) {
    const auto& [name, size] = files[i * count / read];
    checksum = ChecksumOf(path / name, size, checksum);
  }
  return absl::StrFormat("%d files of %d bytes, checksum %08x", count, bytes, checksum);
}

}  // namespace

std::string ContentsOf(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return DirectoryContents(path);
  const uint64_t size = fs::file_size(path, error);
  if (error) return "not there";
  return absl::StrFormat("%d bytes, checksum %08x", size, ChecksumOf(path, size));
}

std::map<std::string, std::string> DataIdentity(const DataConfig& config,
                                                const std::string& directory) {
  // Names of fields that hold paths.
  static const std::set<std::string> paths = {"path",      "images", "labels",    "vocabulary",
                                              "tokenizer", "list",   "directory", "archive"};
  DataConfig deciding = config;
  deciding.clear_workers();
  deciding.clear_prefetch();
  std::map<std::string, std::string> identity;
  for (const auto& [path, value] : FieldsOf(deciding)) {
    identity[path] = value;
    const std::vector<std::string> parts = absl::StrSplit(path, '.');
    const bool is_path =
        std::any_of(parts.begin() + 1, parts.end(),
                    [](const std::string& part) { return paths.count(part) > 0; }) &&
        value.size() >= 2 && value.front() == '"';
    if (!is_path) continue;
    std::string name;
    if (!absl::CUnescape(value.substr(1, value.size() - 2), &name)) continue;
    const std::string file = (fs::path(directory) / name).lexically_normal();
    std::error_code error;
    if (fs::exists(file, error)) identity[path] = ContentsOf(file);
  }
  return identity;
}

}  // namespace onward::training
