#include "training/log/confusion_table.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace onward::training {
namespace {

std::string NameOf(int64_t label, const std::vector<std::string>& names) {
  const bool named = label >= 0 && label < static_cast<int64_t>(names.size());
  return named ? names[static_cast<size_t>(label)] : absl::StrCat(label);
}

// Characters, not bytes, so that columns stand one below the other.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string RightAligned(const std::string& text, size_t width) {
  return std::string(width - std::min(width, Width(text)), ' ') + text;
}

std::string Share(int64_t part, int64_t whole) {
  if (whole == 0) return "-";
  return absl::StrFormat("%.1f %%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

int64_t CountOf(const Confusion& confusion, int64_t target, int64_t prediction) {
  const auto found = confusion.find({target, prediction});
  return found == confusion.end() ? 0 : found->second;
}

std::string MostFrequent(const Confusion& confusion, const std::vector<std::string>& names,
                         size_t most) {
  std::vector<std::pair<int64_t, std::pair<int64_t, int64_t>>> wrong;
  for (const auto& [pair, count] : confusion)
    if (pair.first != pair.second && count > 0) wrong.push_back({-count, pair});
  std::sort(wrong.begin(), wrong.end());
  std::string text = "most frequent confusions\n";
  for (size_t i = 0; i < std::min(most, wrong.size()); ++i)
    absl::StrAppend(&text, "  ", -wrong[i].first, " of ", NameOf(wrong[i].second.first, names),
                    " taken for ", NameOf(wrong[i].second.second, names), "\n");
  return text;
}

}  // namespace

std::string ConfusionTable(const Confusion& confusion, const std::vector<std::string>& names,
                           size_t most) {
  std::set<int64_t> labels;
  std::map<int64_t, int64_t> of_target, of_prediction;
  for (const auto& [pair, count] : confusion) {
    labels.insert({pair.first, pair.second});
    of_target[pair.first] += count;
    of_prediction[pair.second] += count;
  }
  if (labels.size() > most) return MostFrequent(confusion, names, most);
  size_t first = Width("precision"), width = Width("100.0 %");
  for (const int64_t label : labels) {
    first = std::max(first, Width(NameOf(label, names)));
    width = std::max(width, Width(NameOf(label, names)));
  }
  for (const auto& [pair, count] : confusion) width = std::max(width, absl::StrCat(count).size());
  std::string text = RightAligned("", first);
  const auto cell = [&](const std::string& value) { text += "  " + RightAligned(value, width); };
  for (const int64_t label : labels) cell(NameOf(label, names));
  cell("recall");
  text += "\n";
  for (const int64_t target : labels) {
    text += RightAligned(NameOf(target, names), first);
    for (const int64_t prediction : labels)
      cell(absl::StrCat(CountOf(confusion, target, prediction)));
    cell(Share(CountOf(confusion, target, target), of_target[target]));
    text += "\n";
  }
  text += RightAligned("precision", first);
  for (const int64_t label : labels)
    cell(Share(CountOf(confusion, label, label), of_prediction[label]));
  return text + "\n";
}

}  // namespace onward::training
