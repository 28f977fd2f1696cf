#include "cli/machine_peak.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/byte_text.h"

namespace onward::cli {
namespace {

nlohmann::json Json(const kernels::cpu::ArithmeticPeak& peak) {
  nlohmann::json json = {{"float32", peak.float32}, {"float64", peak.float64}, {"int8", peak.int8}};
  if (peak.bfloat16 > 0) json["bfloat16"] = peak.bfloat16;
  return json;
}

nlohmann::json Json(const kernels::cpu::Bandwidth& bandwidth) {
  return {{"read", bandwidth.read},
          {"write", bandwidth.write},
          {"copy", bandwidth.copy},
          {"add", bandwidth.add}};
}

// Which of the peaks arithmetic on a dtype is measured against.
std::string PeakName(DType dtype, Precision precision, const kernels::cpu::ArithmeticPeak& peak) {
  if (dtype == DType::kFloat64) return "float64";
  if (IsFloating(dtype))
    return precision == Precision::kFast && peak.bfloat16 > peak.float32 ? "bfloat16" : "float32";
  return "int8";
}

}  // namespace

nlohmann::json PeakJson(const kernels::cpu::MachinePeak& peak, int threads) {
  nlohmann::json json = {{"threads", threads},
                         {"instruction_set", peak.instruction_set},
                         {"gflops", Json(peak.arithmetic)},
                         {"memory", nlohmann::json::array()}};
  for (const kernels::cpu::MemoryLevel& level : peak.levels) {
    json["memory"].push_back({{"level", level.name},
                              {"capacity_bytes", level.capacity},
                              {"measured_bytes", level.measured},
                              {"gbytes_per_s", Json(level.bandwidth)}});
  }
  return json;
}

std::string PeakText(const kernels::cpu::MachinePeak& peak, int threads) {
  std::string text = absl::StrFormat("%d thread%s, %s\nGFLOP/s (two a multiply-add):", threads,
                                     threads == 1 ? "" : "s", std::string(peak.instruction_set));
  const nlohmann::json rates = Json(peak.arithmetic);
  for (const auto& [name, rate] : rates.items())
    absl::StrAppendFormat(&text, "  %s %.1f", name, rate.get<double>());
  absl::StrAppend(&text, "\nGB/s:    read   write    copy (read and written)   a[i] + b[i]\n");
  for (const kernels::cpu::MemoryLevel& level : peak.levels) {
    const kernels::cpu::Bandwidth& rate = level.bandwidth;
    absl::StrAppendFormat(&text, "%-6s %6.1f  %6.1f  %6.1f %31.1f   (%s%s)\n", level.name,
                          rate.read, rate.write, rate.copy, rate.add,
                          level.capacity > 0 ? absl::StrCat(BytesText(level.capacity), ", ") : "",
                          absl::StrCat("measured on ", BytesText(level.measured)));
  }
  return text;
}

Ceiling::Ceiling(const LeastCost& cost, int64_t arena_bytes, int threads, Precision precision)
    : cost_(cost),
      working_set_(static_cast<int64_t>(cost.read_bytes + cost.written_bytes) + arena_bytes),
      threads_(threads),
      precision_(precision) {
  for (const kernels::cpu::MemoryLevel& level : kernels::cpu::MemoryLevels(threads))
    if (level.capacity < working_set_) faster_bytes_ = std::max(faster_bytes_, level.capacity);
}

void Ceiling::Measure() {
  constexpr int64_t kMost = int64_t{512} << 20;  // memory is as slow beyond it
  arithmetic_ = Largest(arithmetic_, kernels::cpu::MeasureArithmetic(threads_));
  bandwidth_ =
      Largest(bandwidth_, kernels::cpu::MeasureBandwidth(threads_, std::min(kMost, working_set_)));
  if (faster_bytes_ == 0) return;
  faster_ = Largest(faster_, kernels::cpu::MeasureBandwidth(threads_, faster_bytes_ / 2));
  faster_ = Largest(faster_, bandwidth_);
}

double Ceiling::PeakOf(DType dtype) const {
  const std::string name = PeakName(dtype, precision_, arithmetic_);
  return name == "float64"    ? arithmetic_.float64
         : name == "bfloat16" ? arithmetic_.bfloat16
         : name == "float32"  ? arithmetic_.float32
                              : arithmetic_.int8;
}

double Ceiling::ArithmeticShare(double seconds) const {
  double least = 0;
  for (const auto& [dtype, flops] : cost_.flops) least += flops * 1e-9 / PeakOf(dtype);
  return least / seconds;
}

double Ceiling::MemoryShare(double seconds) const {
  if (bandwidth_.read == 0) return 0;
  const double faster = static_cast<double>(faster_bytes_) / static_cast<double>(working_set_);
  const double all = bandwidth_.Seconds(cost_.read_bytes, cost_.written_bytes);
  if (faster_bytes_ == 0) return all / seconds;
  const double cached = faster_.Seconds(cost_.read_bytes, cost_.written_bytes);
  return (faster * cached + (1 - faster) * all) / seconds;
}

nlohmann::json Ceiling::json(double seconds) const {
  return {{"gflops", Json(arithmetic_)},
          {"gbytes_per_s", Json(bandwidth_)},
          {"level", kernels::cpu::LevelOf(threads_, working_set_)},
          {"working_set_bytes", working_set_},
          {"arithmetic_share", ArithmeticShare(seconds)},
          {"memory_share", MemoryShare(seconds)}};
}

std::string Ceiling::text(double seconds, double gflops, double gbytes) const {
  std::string text;
  if (!cost_.flops.empty()) {
    std::string of;
    for (const auto& [dtype, flops] : cost_.flops) {
      const std::string name = PeakName(dtype, precision_, arithmetic_);
      if (of.find(name) == std::string::npos) absl::StrAppend(&of, of.empty() ? "" : " and ", name);
    }
    text = absl::StrFormat(", %.4g GFLOP/s (%.0f %% of the %s peak)", gflops,
                           100 * ArithmeticShare(seconds), of);
  }
  absl::StrAppendFormat(&text, ", %.4g GB/s (%.0f %% of what %s gives)", gbytes,
                        100 * MemoryShare(seconds), kernels::cpu::LevelOf(threads_, working_set_));
  return text;
}

}  // namespace onward::cli
