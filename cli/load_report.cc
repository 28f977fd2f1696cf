#include "cli/load_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onward::cli {
namespace {

struct NamedQuantile {
  const char* name;
  double quantile;
};
constexpr NamedQuantile kQuantiles[] = {{"min", 0},    {"median", 0.5},  {"p90", 0.9},
                                        {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}};

std::string QuantilesText(const std::vector<double>& milliseconds) {
  const nlohmann::json quantiles = QuantilesJson(milliseconds);
  std::string text;
  for (const NamedQuantile& each : kQuantiles)
    absl::StrAppend(&text, "  ", each.name, " ",
                    absl::StrFormat("%.4g", quantiles[each.name].get<double>()));
  return text;
}

double RateOf(const serving::LoadReport& report) {
  return report.seconds > 0 ? static_cast<double>(report.right) / report.seconds : 0;
}

}  // namespace

nlohmann::json QuantilesJson(std::vector<double> milliseconds) {
  nlohmann::json quantiles = nlohmann::json::object();
  if (milliseconds.empty()) return quantiles;
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto last = static_cast<double>(milliseconds.size() - 1);
  for (const NamedQuantile& each : kQuantiles)
    quantiles[each.name] = milliseconds[static_cast<size_t>(each.quantile * last + 0.5)];
  return quantiles;
}

nlohmann::json LoadJson(const serving::LoadReport& report) {
  nlohmann::json statuses = nlohmann::json::object();
  for (const auto& [status, count] : report.by_status) statuses[absl::StrCat(status)] = count;
  return {{"planned", report.planned},
          {"replies", report.replies},
          {"right", report.right},
          {"wrong", report.wrong},
          {"by_status", statuses},
          {"lost", report.lost},
          {"most_behind", report.most_behind},
          {"seconds", report.seconds},
          {"right_per_s", RateOf(report)},
          {"latency_ms", QuantilesJson(report.latencies)},
          {"refusal_ms", QuantilesJson(report.refusals)}};
}

std::string LoadText(const serving::LoadReport& report) {
  std::string text =
      absl::StrFormat("%d requests in %.3g s: %d right (%.4g/s), %d wrong", report.planned,
                      report.seconds, report.right, RateOf(report), report.wrong);
  for (const auto& [status, count] : report.by_status)
    if (status != 200) absl::StrAppend(&text, ", ", count, " with status ", status);
  absl::StrAppend(&text, "\n");
  for (const auto& [reason, count] : report.lost)
    absl::StrAppend(&text, "no reply: ", count, " (", reason, ")\n");
  if (report.most_behind > 0)
    absl::StrAppend(&text, "waited for a connection: up to ", report.most_behind,
                    " at a time (--connections)\n");
  if (!report.latencies.empty())
    absl::StrAppend(&text, "latency ms:", QuantilesText(report.latencies), "\n");
  if (!report.refusals.empty())
    absl::StrAppend(&text, "refusals ms:", QuantilesText(report.refusals), "\n");
  return text;
}

}  // namespace onward::cli
