#include "cli/parameter_choices.h"

#include <algorithm>

namespace onward::cli {
namespace {

// Why it is not trained, in a word.
std::string Frozen(const WeightChoice& choice) {
  switch (choice.ground) {
    case Ground::kStatistic:
      return "buffer";
    case Ground::kNoPath:
      return "no path";
    case Ground::kConfig:
      return "frozen";
    case Ground::kModel:
    case Ground::kGuess:
      break;
  }
  return choice.reason == "a buffer" ? "buffer" : "constant";
}

}  // namespace

void ShowChoices(absl::Span<const WeightChoice> choices,
                 std::vector<nn::ParameterInfo>& parameters) {
  for (nn::ParameterInfo& each : parameters) {
    const auto choice =
        std::find_if(choices.begin(), choices.end(),
                     [&](const WeightChoice& known) { return known.name == each.name; });
    if (choice != choices.end()) {
      each.ground = ChoiceText(*choice);
      each.frozen = choice->trained ? "" : Frozen(*choice);
    } else if (each.trainable()) {
      each.frozen = "constant";
    }
  }
}

}  // namespace onward::cli
