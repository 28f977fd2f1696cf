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

// Lines go to the system as they are, with no buffer that a failure would leave half written.
absl::StatusOr<std::FILE*> OpenUnbuffered(const std::string& path, const char* mode) {
  std::FILE* file = std::fopen(path.c_str(), mode);
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write '", path, "'"));
  std::setvbuf(file, nullptr, _IONBF, 0);
  std::fseek(file, 0, SEEK_END);
  return file;
}

}  // namespace

absl::StatusOr<MetricsFile> MetricsFile::Create(const std::string& path) {
  ONWARD_ASSIGN_OR_RETURN(std::FILE* const file, OpenUnbuffered(path, "wbe"));
  return MetricsFile(file, path);
}

absl::StatusOr<MetricsFile> MetricsFile::Continue(const std::string& path, int64_t step) {
  const auto before = MappedFile::Open(path);
  if (absl::IsNotFound(before.status())) return Create(path);
  if (!before.ok()) return before.status();
  const size_t kept = KeptBytes((*before)->bytes(), step);
  std::error_code error;
  std::filesystem::resize_file(path, kept, error);
  if (error)
    return absl::UnavailableError(absl::StrCat("cannot write '", path, "': ", error.message()));
  ONWARD_ASSIGN_OR_RETURN(std::FILE* const file, OpenUnbuffered(path, "abe"));
  return MetricsFile(file, path);
}

absl::Status MetricsFile::Write(const json& line) {
  const std::string text = Finite(line).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  const long before = std::ftell(file_.get());
  if (std::fputs(text.c_str(), file_.get()) >= 0) return absl::OkStatus();
  const int reason = errno;
  // No half line stays, which would hide what follows it.
  std::error_code ignored;
  if (before >= 0) std::filesystem::resize_file(path_, static_cast<size_t>(before), ignored);
  std::clearerr(file_.get());
  std::fseek(file_.get(), 0, SEEK_END);
  return absl::ErrnoToStatus(reason, absl::StrCat("cannot write '", path_, "'"));
}

}  // namespace onward
