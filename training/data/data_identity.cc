#include "training/data/data_identity.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "graph/base/crc32c.h"
#include "training/config/config_differences.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kWhole = 16 << 20;  // bytes of files that are read whole
constexpr uint64_t kSamples = 256, kSampleBytes = 16 << 10;

uint32_t ChecksumOf(const fs::path& path, uint64_t size) {
  std::ifstream file(path, std::ios::binary);
  uint32_t checksum = 0;
  const auto add = [&](uint64_t begin, uint64_t count) {
    std::string bytes(count, '\0');
    file.clear();
    file.seekg(static_cast<std::streamoff>(begin));
    file.read(bytes.data(), static_cast<std::streamsize>(count));
    bytes.resize(static_cast<size_t>(file.gcount()));
    checksum = Crc32c(bytes, checksum);
  };
  if (size <= kWhole) {
    add(0, size);
    return checksum;
  }
  // The first and the last bytes are among them.
  for (uint64_t i = 0; i < kSamples; ++i)
    add((size - kSampleBytes) / (kSamples - 1) * i, kSampleBytes);
  add(size - kSampleBytes, kSampleBytes);
  return checksum;
}

// Names and sizes; the files of a data set of images are too many to be read.
std::string DirectoryContents(const fs::path& path) {
  std::vector<std::string> names;
  uint64_t bytes = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(path, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code no_size;
    if (!it->is_regular_file(no_size)) continue;
    const uint64_t size = it->file_size(no_size);
    bytes += size;
    names.push_back(absl::StrCat(it->path().lexically_relative(path).generic_string(), " ", size));
  }
  std::sort(names.begin(), names.end());
  uint32_t checksum = 0;
  for (const std::string& name : names) checksum = Crc32c(name, checksum);
  return absl::StrFormat("%d files of %d bytes, checksum of their names and sizes %08x",
                         names.size(), bytes, checksum);
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
  static const std::set<std::string> paths = {"path", "images",    "labels", "vocabulary",
                                              "list", "directory", "archive"};
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

}  // namespace onward
