#include "training/step/progress.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace onward::training {
namespace {

constexpr char kPlateauPrefix[] = "plateau.";

// Calls f(name, field) for every field; one list for both directions.
template <typename Progress, typename F>
void ForEachField(Progress& progress, F&& f) {
  f("step", progress.step);
  f("epoch", progress.epoch);
  f("batch", progress.batch);
  f("skipped", progress.skipped);
  f("averaged", progress.averaged);
  f("without_progress", progress.without_progress);
  f("loss_scale", progress.loss_scale);
  f("scale_steps", progress.scale_steps);
  if (progress.best) f("best", *progress.best);
  if (progress.best_step) f("best_step", *progress.best_step);
  if (progress.statistics_of) f("statistics_of", *progress.statistics_of);
  if (progress.evaluation_due) f("evaluation_due", *progress.evaluation_due);
  for (auto& [group, plateau] : progress.plateaus) {
    const auto name = [group = group](const char* field) {
      return absl::StrCat(kPlateauPrefix, group, ".", field);
    };
    f(name("rate"), plateau.rate);
    f(name("best"), plateau.best);
    f(name("bad"), plateau.bad);
    f(name("cooldown"), plateau.cooldown);
  }
}

std::string Text(int64_t value) { return absl::StrCat(value); }
std::string Text(double value) { return absl::StrFormat("%.17g", value); }

// All integers are counts; no training comes near the bound.
bool Read(const std::string& text, int64_t& value) {
  return absl::SimpleAtoi(text, &value) && value >= 0 && value <= (int64_t{1} << 50);
}
bool Read(const std::string& text, double& value) { return absl::SimpleAtod(text, &value); }

}  // namespace

std::map<std::string, std::string> TextOf(const TrainingProgress& progress) {
  std::map<std::string, std::string> values;
  ForEachField(progress,
               [&](const std::string& name, const auto& field) { values[name] = Text(field); });
  return values;
}

absl::StatusOr<TrainingProgress> ProgressOf(const std::map<std::string, std::string>& values) {
  TrainingProgress progress;
  if (values.count("best") > 0) progress.best = 0;
  if (values.count("best_step") > 0) progress.best_step = 0;
  if (values.count("statistics_of") > 0) progress.statistics_of = 0;
  if (values.count("evaluation_due") > 0) progress.evaluation_due = 0;
  for (const auto& [name, value] : values) {
    absl::string_view rest = name;
    int64_t group = 0;
    if (absl::ConsumePrefix(&rest, kPlateauPrefix) && absl::ConsumeSuffix(&rest, ".rate") &&
        absl::SimpleAtoi(rest, &group))
      progress.plateaus[group] = PlateauState();
  }
  std::string wrong;
  ForEachField(progress, [&](const std::string& name, auto& field) {
    const auto it = values.find(name);
    if (it == values.end() || !Read(it->second, field)) wrong = name;
  });
  if (progress.best && std::isnan(*progress.best)) progress.best.reset();
  if (wrong.empty()) return progress;
  return absl::DataLossError(absl::StrCat(
      "the checkpoint's '", wrong, "' is missing or is not a number that a training writes"));
}

}  // namespace onward::training
