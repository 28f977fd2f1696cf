// A table of how often each class was taken for each other, as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace onward::training {

// (target, prediction) -> how often.
using Confusion = std::map<std::pair<int64_t, int64_t>, int64_t>;

// A row per target with counts by prediction, recall, and below the precision; `names` by class,
// numbers where there are none. Of more than `most` classes the table says only which pairs of
// unequal ones are the most frequent.
std::string ConfusionTable(const Confusion& confusion, const std::vector<std::string>& names = {},
                           size_t most = 24);

}  // namespace onward::training
