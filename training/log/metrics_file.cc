#include "training/log/metrics_file.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "onward/status.h"

namespace onward::training {
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
size_t KeptBytes(std::string_view bytes, int64_t step, bool evaluated) {
  size_t kept = 0;
  while (kept < bytes.size()) {
    const size_t end = bytes.find('\n', kept);
    if (end == bytes.npos) break;
    const json line = json::parse(bytes.substr(kept, end - kept), nullptr, false);
    if (!line.is_object()) break;
    const auto number = line.find("step");
    if (number != line.end() && (!number->is_number_integer() || number->get<int64_t>() > step))
      break;
    if (!evaluated && number != line.end() && *number == step && line.contains("evaluation")) break;
    kept = end + 1;
  }
  return kept;
}

}  // namespace

std::vector<json> ReadMetrics(const std::string& path) {
  std::vector<json> lines;
  const auto file = files::MappedFile::Open(path);
  if (!file.ok()) return lines;
  std::string_view bytes = (*file)->bytes();
  for (size_t end = bytes.find('\n'); end != bytes.npos; end = bytes.find('\n')) {
    json line = json::parse(bytes.substr(0, end), nullptr, false);
    if (!line.is_object()) break;
    lines.push_back(std::move(line));
    bytes.remove_prefix(end + 1);
  }
  return lines;
}

double MetricOf(const json& number) {
  if (number.is_number()) return number.get<double>();
  const double infinity = std::numeric_limits<double>::infinity();
  if (number == "inf") return infinity;
  return number == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

absl::StatusOr<MetricsFile> MetricsFile::Create(const std::string& path) {
  ONWARD_ASSIGN_OR_RETURN(LogFile file, LogFile::Create(path));
  return MetricsFile(std::move(file));
}

absl::StatusOr<MetricsFile> MetricsFile::Continue(const std::string& path, int64_t step,
                                                  bool evaluated) {
  size_t kept = 0;
  {
    const auto before = files::MappedFile::Open(path);
    if (absl::IsNotFound(before.status())) return Create(path);
    if (!before.ok()) return before.status();
    kept = KeptBytes((*before)->bytes(), step, evaluated);
  }
  ONWARD_ASSIGN_OR_RETURN(LogFile file, LogFile::Continue(path, kept));
  return MetricsFile(std::move(file));
}

absl::Status MetricsFile::Write(const json& line) {
  return file_.Append(Finite(line).dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace onward::training
