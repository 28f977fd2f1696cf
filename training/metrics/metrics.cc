#include "training/metrics/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "training/config/kinds.h"
#include "training/config/make_loss.h"
#include "training/metrics/class_rates.h"
#include "training/metrics/score_metrics.h"

namespace onward::training {
namespace {

using MadeMetric = std::unique_ptr<Metric>;

struct MetricEntry {
  const char* name;  // "top_K_accuracy": K is a number
  bool largest_is_best;
  bool (*fits)(const LossConfig& loss);
  std::string (*needs)();  // a loss of this kind
  // One of the two: what follows from the evaluation, or what looks at scores.
  std::optional<double> (*of)(const Evaluation& evaluation);
  MadeMetric (*make)(const LossConfig& loss, int64_t number);
};

std::string Classes() { return absl::StrCat("of classes (", LossesOfClasses(), ")"); }
std::string Counted() { return absl::StrCat(Classes(), ", bce or bce_with_logits"); }
std::string Ranked() { return "of two classes (bce, bce_with_logits, cross_entropy, nll)"; }
std::string Numbers() { return "of numbers (mse, l1, huber, smooth_l1)"; }
std::string Logarithms() { return "cross_entropy or nll with reduction: MEAN"; }

bool IsCounted(const LossConfig& loss) { return HasClasses(loss) || HasBinaryTargets(loss); }
bool IsOfNumbers(const LossConfig& loss) {
  return loss.has_mse() || loss.has_l1() || loss.has_huber() || loss.has_smooth_l1();
}
bool IsMeanOfLogarithms(const LossConfig& loss) {
  return (loss.has_cross_entropy() || loss.has_nll()) && !SumsLoss(loss);
}
bool IsRanked(const LossConfig& loss) {
  return HasBinaryTargets(loss) || loss.has_cross_entropy() || loss.has_nll();
}

std::optional<double> AccuracyOf(const Evaluation& evaluation) { return evaluation.accuracy(); }
std::optional<double> PerplexityOf(const Evaluation& evaluation) {
  return std::exp(evaluation.loss);
}
std::optional<double> PrecisionOf(const Evaluation& evaluation) {
  return RatesOf(evaluation.confusion).precision;
}
std::optional<double> RecallOf(const Evaluation& evaluation) {
  return RatesOf(evaluation.confusion).recall;
}
std::optional<double> F1Of(const Evaluation& evaluation) {
  return RatesOf(evaluation.confusion).f1;
}

constexpr MetricEntry kMetrics[] = {
    {"accuracy", true, IsCounted, Counted, AccuracyOf, nullptr},
    {"auc", true, IsRanked, Ranked, nullptr, MakeAuc},
    {"f1", true, IsCounted, Counted, F1Of, nullptr},
    {"mae", false, IsOfNumbers, Numbers, nullptr, MakeMeanAbsoluteError},
    {"perplexity", false, IsMeanOfLogarithms, Logarithms, PerplexityOf, nullptr},
    {"precision", true, IsCounted, Counted, PrecisionOf, nullptr},
    {"r2", true, IsOfNumbers, Numbers, nullptr, MakeR2},
    {"recall", true, IsCounted, Counted, RecallOf, nullptr},
    {"rmse", false, IsOfNumbers, Numbers, nullptr, MakeRootMeanSquaredError},
    {"top_K_accuracy", true, HasClasses, Classes, nullptr, MakeTopAccuracy},
};

struct Found {
  const MetricEntry* entry = nullptr;
  int64_t number = 0;  // K
};

Found Find(std::string_view name) {
  constexpr std::string_view kBefore = "top_", kAfter = "_accuracy";
  Found found;
  std::string row(name);
  if (name.size() > kBefore.size() + kAfter.size() && name.substr(0, kBefore.size()) == kBefore &&
      name.substr(name.size() - kAfter.size()) == kAfter) {
    const std::string_view digits =
        name.substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size());
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), found.number);
    if (error != std::errc() || end != digits.data() + digits.size() || found.number < 1) return {};
    row = "top_K_accuracy";
  } else if (name == "top_K_accuracy") {
    return {};
  }
  const auto* entry = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                   [&](const MetricEntry& each) { return row == each.name; });
  if (entry != std::end(kMetrics)) found.entry = entry;
  return found;
}

// Null: the config declares none of that name.
const OwnMetric* FindOwn(const EvaluationConfig& config, std::string_view name) {
  for (const OwnMetric& own : config.own())
    if (own.name() == name) return &own;
  return nullptr;
}

}  // namespace

absl::Status CheckMetric(std::string_view name, const EvaluationConfig& config,
                         const LossConfig& loss) {
  if (name == "loss" || FindOwn(config, name) != nullptr) return absl::OkStatus();
  const Found found = Find(name);
  if (found.entry == nullptr) {
    std::string known = "loss";
    for (const MetricEntry& each : kMetrics) absl::StrAppend(&known, ", ", each.name);
    return absl::InvalidArgumentError(absl::StrCat(
        "must be one of ", known, " (K: a number, such as top_5_accuracy), or declared by ",
        "evaluation.own and given by the program, not '", std::string(name), "'"));
  }
  if (found.entry->fits(loss)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(name), " needs a loss ",
                                                 found.entry->needs(), ", not '", KindName(loss),
                                                 "'; \"loss\" fits"));
}

absl::Status CheckOwnMetric(const EvaluationConfig& config, int index, const LossConfig& loss) {
  const std::string& name = config.own(index).name();
  const auto fail = [&](const char* why) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' ", why));
  };
  if (loss.has_from_model())
    return fail(
        "looks at scores and a target, which are not known where the model computes its loss; a "
        "loss of the config (loss { cross_entropy {} } and the like) names them");
  if (name.empty()) return fail("is not a name");
  if (name == "loss" || Find(name).entry != nullptr)
    return fail("is a metric that needs no declaration; name this one otherwise");
  if (FindOwn(config, name) != &config.own(index)) return fail("is declared twice");
  return absl::OkStatus();
}

absl::Status CheckGivenMetrics(const EvaluationConfig& config,
                               const std::map<std::string, MetricFactory>& given) {
  for (const OwnMetric& own : config.own()) {
    const auto found = given.find(own.name());
    if (found != given.end() && found->second != nullptr) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("evaluation.own declares '", own.name(),
                     "', which the program does not give (TrainerOptions::metrics)"));
  }
  for (const auto& [name, factory] : given) {
    if (FindOwn(config, name) != nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "TrainerOptions::metrics has '", name,
        "', which the config does not declare: evaluation { own { name: \"", name, "\" } }"));
  }
  return absl::OkStatus();
}

bool LargestIsBest(const EvaluationConfig& config) {
  if (const OwnMetric* own = FindOwn(config, config.metric())) return own->largest_is_best();
  const Found found = Find(config.metric());
  return found.entry != nullptr && found.entry->largest_is_best;
}

bool LooksAtScores(const EvaluationConfig& config) {
  const std::vector<std::string> names = MetricNames(config);
  return config.own_size() > 0 || std::any_of(names.begin(), names.end(), [](const auto& name) {
           const Found found = Find(name);
           return found.entry != nullptr && found.entry->make != nullptr;
         });
}

absl::StatusOr<std::map<std::string, MadeMetric>> MakeMetrics(
    const EvaluationConfig& config, const LossConfig& loss,
    const std::map<std::string, MetricFactory>& own) {
  std::map<std::string, MadeMetric> made;
  for (const std::string& name : MetricNames(config)) {
    const Found found = Find(name);
    if (found.entry == nullptr) {
      made[name] = own.at(name)();
      if (made[name] == nullptr)
        return absl::InvalidArgumentError(
            absl::StrCat("TrainerOptions::metrics: '", name, "' returned null"));
    } else if (found.entry->make != nullptr) {
      made[name] = found.entry->make(loss, found.number);
    }
  }
  return made;
}

std::optional<double> ValueOf(std::string_view metric, const Evaluation& evaluation) {
  if (metric == "loss") return evaluation.loss;
  if (metric == "accuracy") return evaluation.accuracy();
  const auto value = evaluation.metrics.find(std::string(metric));
  if (value != evaluation.metrics.end()) return value->second;
  const Found found = Find(metric);
  if (found.entry == nullptr || found.entry->of == nullptr) return std::nullopt;
  return found.entry->of(evaluation);
}

std::string MetricText(std::string_view metric, double value) {
  const std::string name(metric);
  const bool share = Find(metric).entry != nullptr && name.size() >= 8 &&
                     name.substr(name.size() - 8) == "accuracy";
  if (share) return absl::StrFormat("%s %.2f %%", name, 100 * value);
  return absl::StrFormat("%s %.4f", name, value);
}

std::vector<std::string> MetricNames(const EvaluationConfig& config) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (name != "loss" && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  add(config.metric());
  for (const std::string& name : config.also()) add(name);
  for (const OwnMetric& own : config.own()) add(own.name());
  return names;
}

}  // namespace onward::training
