#include "onward/weight_choice.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onward {

std::string ChoiceSummary(absl::Span<const WeightChoice> choices) {
  struct Row {
    bool trained;
    Ground ground;
    const char* text;
  };
  constexpr std::array<Row, 8> kRows = {{
      {true, Ground::kModel, "the model says so"},
      {true, Ground::kConfig, "named in `trainable`"},
      {true, Ground::kGuess, "guessed: the file does not say what they are"},
      {false, Ground::kModel, "buffers and constants, as the model says"},
      {false, Ground::kConfig, "by `trainable` or `frozen`"},
      {false, Ground::kGuess, "guessed to be constants"},
      {false, Ground::kStatistic, "running statistics"},
      {false, Ground::kNoPath, "without a path to the loss"},
  }};
  const auto part = [&](bool trained) {
    std::vector<std::string> texts;
    size_t sum = 0;
    for (const Row& row : kRows) {
      const auto count = static_cast<size_t>(
          std::count_if(choices.begin(), choices.end(), [&](const WeightChoice& each) {
            return each.trained == trained && each.ground == row.ground;
          }));
      if (row.trained != trained || count == 0) continue;
      texts.push_back(absl::StrCat(count, " ", row.text));
      sum += count;
    }
    return absl::StrCat(sum, trained ? " weights are trained" : " are frozen",
                        texts.empty() ? "" : absl::StrCat(" (", absl::StrJoin(texts, ", "), ")"));
  };
  return absl::StrCat(part(true), "; ", part(false));
}

std::string ChoiceText(const WeightChoice& choice) {
  const char* kGrounds[] = {"config", "model", "guess", "model", "graph"};
  return absl::StrCat(kGrounds[static_cast<size_t>(choice.ground)], ": ", choice.reason);
}

}  // namespace onward
