#include "training/log/metrics_file.h"

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status.h"
#include "onnx_io/mapped_file.h"

namespace onward {
namespace {

using nlohmann::json;

json Finite(const json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const auto number = value.get<double>();
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
  }
  json copy = value;
  if (value.is_structured())
    for (json& inner : copy) inner = Finite(inner);
  return copy;
}

// Bytes of the whole lines that belong to steps up to `step`.
size_t KeptBytes(std::string_view bytes, int64_t step) {
  size_t kept = 0;
  while (kept < bytes.size()) {
    const size_t end = bytes.find('\n', kept);
    if (end == bytes.npos) break;
    const json line = json::parse(bytes.substr(kept, end - kept), nullptr, false);
    if (!line.is_object()) break;
    const auto number = line.find("step");
    if (number != line.end() && (!number->is_number_integer() || number->get<int64_t>() > step))
      break;
    kept = end + 1;
  }
  return kept;
}

}  // namespace

absl::StatusOr<MetricsFile> MetricsFile::Create(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path, "'"));
  return MetricsFile(file, path);
}

absl::StatusOr<MetricsFile> MetricsFile::Continue(const std::string& path, int64_t step) {
  const auto before = MappedFile::Open(path);
  if (absl::IsNotFound(before.status())) return Create(path);
  if (!before.ok()) return before.status();
  const size_t kept = KeptBytes((*before)->bytes(), step);
  std::error_code error;
  std::filesystem::resize_file(path, kept, error);
  std::FILE* file = error ? nullptr : std::fopen(path.c_str(), "abe");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path, "'"));
  return MetricsFile(file, path);
}

absl::Status MetricsFile::Write(const json& line) {
  const std::string text = Finite(line).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  if (std::fputs(text.c_str(), file_.get()) >= 0 && std::fflush(file_.get()) == 0)
    return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path_, "'"));
}

}  // namespace onward
