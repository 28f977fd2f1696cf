#include "training/step/step_outputs.h"

#include <chrono>
#include <cstring>

#include "absl/strings/match.h"
#include "training/rewrite/accumulation.h"
#include "training/rewrite/loss_scale.h"
#include "training/step/phases.h"

namespace onward::training {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double LossOf(const Session::Outputs& outputs) {
  return static_cast<double>(outputs.at("loss").tensor().data<float>()[0]);
}

bool GradientsFinite(const Session::Outputs& outputs) {
  const auto finite = outputs.find(kGradientsFinite);
  return finite == outputs.end() || finite->second.tensor().data<bool>()[0];
}

void LossMean::Add(const Session::Outputs& outputs) {
  sum_ += LossOf(outputs);
  const auto count = outputs.find(kLossCount);
  if (count == outputs.end()) return;
  counted_ = true;
  count_ += count->second.tensor().data<double>()[0];
}

void ReadGradients(const Session::Outputs& outputs, StepReport& report) {
  for (const auto& [name, value] : outputs) {
    if (absl::StartsWith(name, kGradientValuePrefix))
      report.gradients[name.substr(std::strlen(kGradientValuePrefix))] = value.tensor();
    if (!absl::StartsWith(name, "gradient_norm")) continue;
    const auto norm = static_cast<double>(value.tensor().data<float>()[0]);
    if (name == "gradient_norm") report.gradient_norm = norm;
    if (absl::StartsWith(name, kGradientNormPrefix))
      report.gradient_norms[name.substr(std::strlen(kGradientNormPrefix))] = norm;
  }
}

}  // namespace onward::training
