#include "training/metrics/class_rates.h"

#include <algorithm>

namespace onward::training {
namespace {

struct Counts {
  double right = 0, targets = 0, predictions = 0;
};

double Share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

}  // namespace

ClassRates RatesOf(const std::map<std::pair<int64_t, int64_t>, int64_t>& confusion) {
  std::map<int64_t, Counts> classes;
  for (const auto& [pair, count] : confusion) {
    const auto number = static_cast<double>(count);
    classes[pair.first].targets += number;
    classes[pair.second].predictions += number;
    if (pair.first == pair.second) classes[pair.first].right += number;
  }
  if (classes.empty()) return {};
  const bool binary = std::all_of(classes.begin(), classes.end(), [](const auto& each) {
    return each.first == 0 || each.first == 1;
  });
  if (binary) classes = {{1, classes[1]}};
  double precision = 0, recall = 0, f1 = 0;
  for (const auto& [label, counts] : classes) {
    precision += Share(counts.right, counts.predictions);
    recall += Share(counts.right, counts.targets);
    f1 += Share(2 * counts.right, counts.predictions + counts.targets);
  }
  const auto count = static_cast<double>(classes.size());
  return {precision / count, recall / count, f1 / count};
}

}  // namespace onward::training
