#include "cli/op_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onward::cli {
namespace {

constexpr size_t kMostRows = 12;

double TotalOf(absl::Span<const OpTime> times) {
  double total = 0;
  for (const OpTime& time : times) total += static_cast<double>(time.self_ns);
  return total;
}

double ShareOf(const OpTime& time, double total) {
  return total > 0 ? static_cast<double>(time.self_ns) / total : 0;
}

double Milliseconds(const OpTime& time) { return static_cast<double>(time.self_ns) * 1e-6; }

}  // namespace

std::string OpTableText(absl::Span<const OpTime> times) {
  if (times.empty()) return "";
  const double total = TotalOf(times);
  const absl::Span<const OpTime> shown = times.subspan(0, kMostRows);
  size_t op = 2, kernel = 6;
  for (const OpTime& time : shown) {
    op = std::max(op, time.op.size());
    kernel = std::max(kernel, time.kernel.size());
  }
  const auto line = [&](const std::string& name, const std::string& by, const std::string& rest) {
    return absl::StrFormat("%-*s  %-*s  %s\n", op, name, kernel, by, rest);
  };
  std::string text = line("op", "kernel", "   calls         ms   share");
  for (const OpTime& time : shown)
    text += line(time.op, time.kernel,
                 absl::StrFormat("%8d %10.3f  %5.1f%%", time.calls, Milliseconds(time),
                                 100 * ShareOf(time, total)));
  OpTime others;
  for (const OpTime& time : times.subspan(shown.size())) {
    others.calls += time.calls;
    others.self_ns += time.self_ns;
  }
  if (others.calls > 0)
    text += line(absl::StrCat(times.size() - shown.size(), " others"), "",
                 absl::StrFormat("%8d %10.3f  %5.1f%%", others.calls, Milliseconds(others),
                                 100 * ShareOf(others, total)));
  return text;
}

nlohmann::json OpTableJson(absl::Span<const OpTime> times) {
  const double total = TotalOf(times);
  nlohmann::json rows = nlohmann::json::array();
  for (const OpTime& time : times)
    rows.push_back({{"op", time.op},
                    {"kernel", time.kernel},
                    {"calls", time.calls},
                    {"ms", Milliseconds(time)},
                    {"share", ShareOf(time, total)}});
  return rows;
}

}  // namespace onward::cli
