#include "quantization/ranges.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::quantization {
namespace {

constexpr int kBins = 2048;
constexpr int kLevels = 256;
// Parts that are tried: the values' magnitude in steps of 1 to kParts.
constexpr int kParts = 128;
constexpr int kLeastPart = 8;

double Width(const Histogram& histogram) {
  return (histogram.high - histogram.low) / static_cast<double>(histogram.counts.size());
}

double Center(const Histogram& histogram, size_t bin) {
  return histogram.low + (static_cast<double>(bin) + 0.5) * Width(histogram);
}

ValueRange Percentile(const Histogram& histogram, double percentile) {
  double total = 0;
  for (const int64_t count : histogram.counts) total += static_cast<double>(count);
  const double cut = total * (1 - percentile / 100) / 2;
  double low = histogram.low, high = histogram.high, seen = 0;
  for (size_t i = 0; i < histogram.counts.size() && low < 0; ++i) {
    seen += static_cast<double>(histogram.counts[i]);
    if (seen > cut) break;
    low += Width(histogram);
  }
  seen = 0;
  for (size_t i = histogram.counts.size(); i-- > 0 && high > 0;) {
    seen += static_cast<double>(histogram.counts[i]);
    if (seen > cut) break;
    high -= Width(histogram);
  }
  return {static_cast<float>(std::min(low, 0.0)), static_cast<float>(std::max(high, 0.0))};
}

double SquareError(const Histogram& histogram, const ValueRange& range) {
  const double scale = (static_cast<double>(range.high) - range.low) / (kLevels - 1);
  const double zero = std::nearbyint(-range.low / scale);
  double error = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const double value = Center(histogram, i);
    const double code = std::clamp(std::nearbyint(value / scale) + zero, 0.0, kLevels - 1.0);
    const double difference = value - (code - zero) * scale;
    error += static_cast<double>(histogram.counts[i]) * difference * difference;
  }
  return error;
}

// The divergence of what is inside the range, what is outside counted at its ends, from that spread
// evenly over each code's bins that are not empty.
double Divergence(const Histogram& histogram, const ValueRange& range) {
  const double width = Width(histogram);
  const auto bin_of = [&](double value) {
    const auto bin = static_cast<int64_t>((value - histogram.low) / width);
    return static_cast<size_t>(
        std::clamp<int64_t>(bin, 0, static_cast<int64_t>(histogram.counts.size()) - 1));
  };
  const size_t first = bin_of(range.low + width / 2), last = bin_of(range.high - width / 2);
  std::vector<double> inside(last - first + 1);
  double total = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    inside[std::clamp(i, first, last) - first] += static_cast<double>(histogram.counts[i]);
    total += static_cast<double>(histogram.counts[i]);
  }
  double divergence = 0;
  const size_t count = inside.size();
  for (size_t level = 0; level < kLevels; ++level) {
    const size_t begin = level * count / kLevels, end = (level + 1) * count / kLevels;
    double sum = 0;
    int filled = 0;
    for (size_t i = begin; i < end; ++i) {
      // Without what was outside, which no code can tell from the ends.
      sum += static_cast<double>(histogram.counts[first + i]);
      filled += inside[i] > 0 ? 1 : 0;
    }
    for (size_t i = begin; i < end; ++i) {
      if (inside[i] <= 0) continue;
      const double p = inside[i] / total, q = std::max(sum / filled / total, 1e-12);
      divergence += p * std::log(p / q);
    }
  }
  return divergence;
}

// Zeros, which activations have many of, are exact in every range: their bin counts as its
// neighbours do.
Histogram WithoutZeros(Histogram histogram) {
  const auto last = static_cast<int64_t>(histogram.counts.size()) - 1;
  const auto zero =
      std::clamp<int64_t>(static_cast<int64_t>(-histogram.low / Width(histogram)), 0, last);
  const auto at = [&](int64_t bin) { return histogram.counts[static_cast<size_t>(bin)]; };
  const int64_t below = zero > 0 ? at(zero - 1) : at(zero + 1);
  const int64_t above = zero < last ? at(zero + 1) : below;
  histogram.counts[static_cast<size_t>(zero)] = std::min(at(zero), (below + above) / 2);
  return histogram;
}

// Bins of so many values each that their numbers are more than chance.
Histogram Coarser(const Histogram& histogram) {
  constexpr int64_t kValuesInBin = 64;
  int64_t total = 0;
  for (const int64_t count : histogram.counts) total += count;
  size_t merged = 1;
  while (merged < histogram.counts.size() &&
         total * static_cast<int64_t>(merged) <
             kValuesInBin * static_cast<int64_t>(histogram.counts.size()))
    merged *= 2;
  Histogram coarser = {histogram.low, histogram.high, {}};
  coarser.counts.resize((histogram.counts.size() + merged - 1) / merged);
  for (size_t i = 0; i < histogram.counts.size(); ++i)
    coarser.counts[i / merged] += histogram.counts[i];
  return coarser;
}

ValueRange Part(const Histogram& histogram, int part) {
  const double largest = std::max(-histogram.low, histogram.high) * part / kParts;
  return {static_cast<float>(std::max(histogram.low, -largest)),
          static_cast<float>(std::min(histogram.high, largest))};
}

}  // namespace

ValueRange ChooseRange(const Histogram& histogram, const RangeOptions& options) {
  const ValueRange all = {static_cast<float>(histogram.low), static_cast<float>(histogram.high)};
  if (options.method == RangeMethod::kMinMax || !(histogram.high > histogram.low)) return all;
  if (options.method == RangeMethod::kPercentile) {
    const ValueRange range = Percentile(histogram, options.percentile);
    return range.high > range.low ? range : all;
  }
  const bool entropy = options.method == RangeMethod::kEntropy;
  const Histogram bins = entropy ? Coarser(WithoutZeros(histogram)) : histogram;
  if (entropy && bins.counts.size() <= kLevels) return all;
  ValueRange best = all;
  double least = -1;
  for (int part = kParts; part >= kLeastPart; --part) {
    const ValueRange range = Part(histogram, part);
    const double loss = entropy ? Divergence(bins, range) : SquareError(bins, range);
    if (least < 0 || loss < least) {
      least = loss;
      best = range;
    }
  }
  return best;
}

absl::StatusOr<std::map<std::string, ValueRange>> CalibrateRanges(
    const Model& model, const CalibrationSet& set, const std::set<std::string>& names,
    const RangeOptions& options, const SessionOptions& session) {
  ONWARD_ASSIGN_OR_RETURN(const auto all, ObserveRanges(model, set, session));
  std::map<std::string, ValueRange> ranges;
  std::map<std::string, Histogram, std::less<>> histograms;
  for (const std::string& name : names) {
    const auto it = all.find(name);
    if (it == all.end()) continue;
    if (!it->second.finite)
      return absl::InvalidArgumentError(
          absl::StrCat("the samples make elements of '", name,
                       "' infinite or NaN, for which there is no range"));
    ranges[name] = it->second;
    histograms[name] = {it->second.low, it->second.high, std::vector<int64_t>(kBins)};
  }
  if (options.method == RangeMethod::kMinMax) return ranges;
  ONWARD_RETURN_IF_ERROR(
      ObserveSamples(model, set, session, [&](std::string_view name, const TensorView& value) {
        const auto it = histograms.find(name);
        if (it == histograms.end() || value.dtype != DType::kFloat32) return absl::OkStatus();
        Histogram& histogram = it->second;
        const double width = Width(histogram);
        if (!(width > 0)) return absl::OkStatus();
        for (const float element : value.span<float>()) {
          const double bin = (element - histogram.low) / width;
          ++histogram.counts[static_cast<size_t>(std::clamp(bin, 0.0, kBins - 1.0))];
        }
        return absl::OkStatus();
      }));
  for (const auto& [name, histogram] : histograms) ranges[name] = ChooseRange(histogram, options);
  return ranges;
}

}  // namespace onward::quantization
