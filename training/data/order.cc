#include "training/data/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "kernels/philox.h"

namespace onward::training {
namespace {

// The purpose of a stream of random numbers; the streams of one seed differ by it.
enum Purpose : uint32_t { kShuffle = 0x4f524400, kDraw, kExample, kBatches };

uint64_t Word(uint64_t seed, Purpose purpose, int64_t epoch, uint64_t index) {
  const kernels::RandomBlock block =
      kernels::Philox({seed, purpose, static_cast<uint32_t>(epoch)}, index);
  return uint64_t{block.word[0]} << 32 | block.word[1];
}

// Fisher-Yates.
std::vector<int64_t> Shuffled(int64_t size, uint64_t seed, Purpose purpose, int64_t epoch) {
  std::vector<int64_t> order = InOrder(size);
  for (size_t i = order.size(); i > 1; --i) {
    // Uniform in [0, i) but for a bias of i / 2^64.
    const auto product = static_cast<unsigned __int128>(Word(seed, purpose, epoch, i)) * i;
    std::swap(order[i - 1], order[static_cast<size_t>(product >> 64)]);
  }
  return order;
}

constexpr int64_t kBatchesSorted = 50;

}  // namespace

std::vector<int64_t> InOrder(int64_t size) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int64_t> ShuffledOrder(int64_t size, uint64_t seed, int64_t epoch) {
  return Shuffled(size, seed, kShuffle, epoch);
}

std::vector<int64_t> GroupedByLength(std::vector<int64_t> order, absl::Span<const int64_t> lengths,
                                     int64_t batch_size, uint64_t seed, int64_t epoch) {
  const int64_t batches = static_cast<int64_t>(order.size()) / batch_size;
  for (int64_t first = 0; first < batches; first += kBatchesSorted) {
    const int64_t last = std::min(first + kBatchesSorted, batches);
    std::stable_sort(order.begin() + first * batch_size, order.begin() + last * batch_size,
                     [&](int64_t a, int64_t b) {
                       return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
                     });
  }
  std::vector<int64_t> grouped;
  grouped.reserve(order.size());
  for (const int64_t batch : Shuffled(batches, seed, kBatches, epoch))
    grouped.insert(grouped.end(), order.begin() + batch * batch_size,
                   order.begin() + (batch + 1) * batch_size);
  grouped.insert(grouped.end(), order.begin() + batches * batch_size, order.end());
  return grouped;
}

absl::Status CheckWeights(absl::Span<const double> weights) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the weight of example ", i, " is ", weights[i], ", must be finite and at least 0"));
    }
    sum += weights[i];
  }
  if (!(sum > 0) || !std::isfinite(sum))
    return absl::InvalidArgumentError(
        absl::StrCat("the sum of the weights is ", sum, ", must be finite and above 0"));
  return absl::OkStatus();
}

std::vector<int64_t> WeightedOrder(absl::Span<const double> weights, int64_t count, uint64_t seed,
                                   int64_t epoch) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  // A draw that rounds up to the whole sum is of the last example that has a weight.
  const auto last = std::lower_bound(sums.begin(), sums.end(), sums.back());
  std::vector<int64_t> order(static_cast<size_t>(count));
  for (size_t i = 0; i < order.size(); ++i) {
    const double draw =
        static_cast<double>(Word(seed, kDraw, epoch, i) >> 11) * 0x1p-53 * sums.back();
    order[i] = std::min(std::upper_bound(sums.begin(), sums.end(), draw), last) - sums.begin();
  }
  return order;
}

uint64_t ExampleRandom(uint64_t seed, int64_t epoch, int64_t index) {
  return Word(seed, kExample, epoch, static_cast<uint64_t>(index));
}

}  // namespace onward::training
