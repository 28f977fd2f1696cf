// The order of examples: pure functions of seed and epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace onward::training {

std::vector<int64_t> InOrder(int64_t size);

// Each of [0, size) once (Fisher-Yates on Philox's words).
std::vector<int64_t> ShuffledOrder(int64_t size, uint64_t seed, int64_t epoch);

// The epoch of orders that split a data set, so that no epoch of training repeats one.
inline constexpr int64_t kSplitEpoch = -1;

// `count` draws with replacement from [0, weights.size()). The weights are not negative and their
// sum is positive and finite: see CheckWeights.
std::vector<int64_t> WeightedOrder(absl::Span<const double> weights, int64_t count, uint64_t seed,
                                   int64_t epoch);
// InvalidArgument names the first weight that is negative or not finite.
absl::Status CheckWeights(absl::Span<const double> weights);

// `order` regrouped, so that the examples of a batch have about equal lengths and little is padded:
// within every 50 batches, examples are sorted by length, as Hugging Face's LengthGroupedSampler
// does; then the batches are shuffled. What does not fill a batch stays last, and is of any length.
std::vector<int64_t> GroupedByLength(std::vector<int64_t> order, absl::Span<const int64_t> lengths,
                                     int64_t batch_size, uint64_t seed, int64_t epoch);

// The number that example `index` draws its augmentation from.
uint64_t ExampleRandom(uint64_t seed, int64_t epoch, int64_t index);

}  // namespace onward::training
