#include "onward/generation/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "kernels/philox.h"

namespace onward::generation {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void KeepBest(absl::Span<float> scores, int64_t count) {
  if (count <= 0 || count >= static_cast<int64_t>(scores.size())) return;
  std::vector<float> sorted(scores.begin(), scores.end());
  std::nth_element(sorted.begin(), sorted.begin() + (count - 1), sorted.end(), std::greater<>());
  const float last = sorted[static_cast<size_t>(count - 1)];
  for (float& each : scores) {
    if (each < last) each = kNever;
  }
}

// Tokens fall from the least probable on while they have at most 1 - top_p together.
void KeepProbable(absl::Span<float> scores, double top_p) {
  if (top_p >= 1) return;
  const std::vector<double> probabilities = Probabilities(scores);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  double sum = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    sum += probabilities[order[i]];
    if (sum > 1 - top_p) break;
    scores[order[i]] = kNever;
  }
}

}  // namespace

absl::Status CheckSampling(const SamplingOptions& options) {
  const auto refuse = [](const char* name, double value, const char* range) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, ", must be ", range));
  };
  if (!(options.temperature > 0) || !std::isfinite(options.temperature))
    return refuse("temperature", options.temperature, "above 0");
  if (options.top_k < 0)
    return refuse("top_k", static_cast<double>(options.top_k), "at least 0 (0: all)");
  if (!(options.top_p > 0 && options.top_p <= 1))
    return refuse("top_p", options.top_p, "in (0, 1]");
  if (!(options.repetition_penalty > 0) || !std::isfinite(options.repetition_penalty))
    return refuse("repetition_penalty", options.repetition_penalty, "above 0");
  if (!std::isfinite(options.presence_penalty))
    return refuse("presence_penalty", options.presence_penalty, "finite");
  if (!std::isfinite(options.frequency_penalty))
    return refuse("frequency_penalty", options.frequency_penalty, "finite");
  for (const auto& [token, bias] : options.bias)
    if (!std::isfinite(bias)) return refuse("a bias", bias, "finite");
  return absl::OkStatus();
}

void PenaliseRepetition(absl::Span<float> scores, absl::Span<const int64_t> tokens,
                        double penalty) {
  if (penalty == 1) return;
  std::vector<bool> done(scores.size(), false);
  const float factor = static_cast<float>(penalty);
  for (const int64_t token : tokens) {
    if (token < 0 || token >= static_cast<int64_t>(scores.size())) continue;
    const size_t at = static_cast<size_t>(token);
    if (done[at]) continue;
    done[at] = true;
    scores[at] = scores[at] < 0 ? scores[at] * factor : scores[at] / factor;
  }
}

void PenalisePresence(absl::Span<float> scores, absl::Span<const int64_t> generated,
                      double presence_penalty, double frequency_penalty) {
  if (presence_penalty == 0 && frequency_penalty == 0) return;
  absl::flat_hash_map<int64_t, int64_t> counts;
  for (const int64_t token : generated) ++counts[token];
  for (const auto& [token, count] : counts) {
    if (token < 0 || token >= static_cast<int64_t>(scores.size())) continue;
    const double penalty = presence_penalty + frequency_penalty * static_cast<double>(count);
    scores[static_cast<size_t>(token)] -= static_cast<float>(penalty);
  }
}

void FilterScores(absl::Span<float> scores, const SamplingOptions& options) {
  // Below the least of these the best token is chosen in any case, and scores stay finite.
  const auto temperature = static_cast<float>(std::max(options.temperature, 1e-6));
  for (float& each : scores) {
    if (std::isnan(each)) each = kNever;
    each /= temperature;
  }
  KeepBest(scores, options.top_k);
  KeepProbable(scores, options.top_p);
}

std::vector<double> LogProbabilities(absl::Span<const float> scores) {
  double most = -std::numeric_limits<double>::infinity();
  for (const float each : scores) {
    if (!std::isnan(each)) most = std::max(most, static_cast<double>(each));
  }
  double sum = 0;
  std::vector<double> logs(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    logs[i] = std::isnan(scores[i]) ? -std::numeric_limits<double>::infinity() : scores[i] - most;
    sum += std::exp(logs[i]);
  }
  for (double& each : logs) each -= std::log(sum);
  return logs;
}

std::vector<double> Probabilities(absl::Span<const float> scores) {
  std::vector<double> probabilities = LogProbabilities(scores);
  for (double& each : probabilities) each = std::exp(each);
  return probabilities;
}

int64_t Best(absl::Span<const float> scores) {
  size_t best = 0;
  for (size_t i = 1; i < scores.size(); ++i) {
    if (scores[i] > scores[best] || (std::isnan(scores[best]) && !std::isnan(scores[i]))) best = i;
  }
  return static_cast<int64_t>(best);
}

int64_t At(absl::Span<const double> probabilities, double unit) {
  double sum = 0;
  int64_t last = 0;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    if (!(probabilities[i] > 0)) continue;
    sum += probabilities[i];
    last = static_cast<int64_t>(i);
    if (sum > unit) break;
  }
  return last;
}

int64_t ChooseToken(absl::Span<float> scores, absl::Span<const int64_t> before,
                    const SamplingOptions& options, uint64_t seed, uint64_t step) {
  PenaliseRepetition(scores, before, options.repetition_penalty);
  const size_t generated = std::min(before.size(), static_cast<size_t>(step));
  PenalisePresence(scores, before.last(generated), options.presence_penalty,
                   options.frequency_penalty);
  for (const auto& [token, bias] : options.bias)
    if (token >= 0 && token < static_cast<int64_t>(scores.size()))
      scores[static_cast<size_t>(token)] += static_cast<float>(bias);
  if (options.greedy) return Best(scores);
  FilterScores(scores, options);
  double units[kernels::UniformNumbers<double>::kPerBlock];
  kernels::UniformNumbers<double>::Draw({seed, 0, 0}, step, units);
  return At(Probabilities(scores), units[0]);
}

}  // namespace onward::generation
