// ClassRates of right predictions, of how often each class was taken for each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace onward::training {

struct ClassRates {
  std::optional<double> precision, recall, f1;  // none where nothing was counted
};

// `confusion`: (target, prediction) -> how often. Where all are 0 or 1 the rates are those of class
// 1, else the means over all classes that are a target or a prediction (scikit-learn's "binary" and
// "macro"); a rate of nothing is 0.
ClassRates RatesOf(const std::map<std::pair<int64_t, int64_t>, int64_t>& confusion);

}  // namespace onward::training
