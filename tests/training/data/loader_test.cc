#include "training/data/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "onward/dataset.h"
#include "training/data/order.h"

namespace onward::training {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Example i is i and its random number; the examples of `broken` cannot be read.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size, std::vector<int64_t> broken = {})
      : size_(size), broken_(std::move(broken)) {}
  int64_t size() const override { return size_; }
  const std::vector<Field>& fields() const override { return fields_; }
  absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t random) const override {
    ++reads;
    if (index % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random % 300));
    if (std::count(broken_.begin(), broken_.end(), index) > 0)
      return absl::DataLossError(absl::StrCat("record ", index, " is broken"));
    return std::vector<Tensor>{Tensor::Scalar<int64_t>(index), Tensor::Scalar<uint64_t>(random)};
  }
  mutable std::atomic<int64_t> reads = 0;

 private:
  int64_t size_;
  std::vector<int64_t> broken_;
  std::vector<Field> fields_ = {{"x", Type::Tensor(DType::kInt64, Dims{})},
                                {"random", Type::Tensor(DType::kUint64, Dims{})}};
};

std::unique_ptr<Loader> Make(std::shared_ptr<const Dataset> data, const LoaderOptions& options) {
  auto loader = Loader::Create(std::move(data), options);
  EXPECT_TRUE(loader.ok()) << loader.status();
  return *std::move(loader);
}

std::vector<int64_t> NextX(Loader& loader) {
  auto batch = loader.Next();
  EXPECT_TRUE(batch.ok()) << batch.status();
  const auto x = batch->at("x").span<int64_t>();
  return {x.begin(), x.end()};
}

std::vector<int64_t> Epoch(Loader& loader) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < loader.batches_per_epoch(); ++i)
    for (const int64_t x : NextX(loader)) all.push_back(x);
  return all;
}

TEST(LoaderTest, InOrderWithASmallLastBatch) {
  auto loader = Make(std::make_shared<Numbers>(5), {.batch_size = 2});
  EXPECT_EQ(loader->batches_per_epoch(), 3);
  EXPECT_THAT(NextX(*loader), ElementsAre(0, 1));
  EXPECT_THAT(NextX(*loader), ElementsAre(2, 3));
  EXPECT_THAT(NextX(*loader), ElementsAre(4));
  EXPECT_THAT(NextX(*loader), ElementsAre(0, 1));
  auto dropping = Make(std::make_shared<Numbers>(5), {.batch_size = 2, .drop_last = true});
  EXPECT_EQ(dropping->batches_per_epoch(), 2);
  EXPECT_THAT(Epoch(*dropping), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(NextX(*dropping), ElementsAre(0, 1));
}

TEST(LoaderTest, EveryEpochIsAnotherPermutation) {
  auto loader = Make(std::make_shared<Numbers>(101), {.batch_size = 7, .shuffle = true, .seed = 3});
  const std::vector<int64_t> first = Epoch(*loader), second = Epoch(*loader);
  EXPECT_NE(first, second);
  for (std::vector<int64_t> epoch : {first, second}) {
    std::sort(epoch.begin(), epoch.end());
    std::vector<int64_t> expected(101);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(epoch, expected);
  }
  auto other = Make(std::make_shared<Numbers>(101), {.batch_size = 7, .shuffle = true, .seed = 4});
  EXPECT_NE(Epoch(*other), first);
}

// Every example stands at every place equally often: chi-squared, 6 places of 6 examples.
TEST(LoaderTest, PermutationsAreUniform) {
  auto loader = Make(std::make_shared<Numbers>(6),
                     {.batch_size = 6, .shuffle = true, .seed = 1, .workers = 0});
  constexpr int kEpochs = 3000;
  std::map<std::pair<int64_t, int64_t>, int> counts;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<int64_t> order = NextX(*loader);
    for (size_t place = 0; place < 6; ++place) ++counts[{order[place], place}];
  }
  double chi = 0;
  for (int64_t x = 0; x < 6; ++x)
    for (int64_t place = 0; place < 6; ++place)
      chi += std::pow(counts[{x, place}] - kEpochs / 6.0, 2) / (kEpochs / 6.0);
  EXPECT_LT(chi, 52.6);  // 25 degrees of freedom, p = 0.001
}

TEST(LoaderTest, WorkersChangeNothing) {
  std::vector<std::pair<std::vector<int64_t>, std::vector<uint64_t>>> expected;
  for (const int workers : {0, 1, 2, 5}) {
    auto loader =
        Make(std::make_shared<Numbers>(50, std::vector<int64_t>{7, 8}), {.batch_size = 4,
                                                                         .shuffle = true,
                                                                         .seed = 9,
                                                                         .workers = workers,
                                                                         .prefetch = 3,
                                                                         .skip_broken = true});
    for (size_t i = 0; i < 3 * 13; ++i) {
      auto batch = loader->Next();
      ASSERT_TRUE(batch.ok());
      const auto x = batch->at("x").span<int64_t>();
      const auto random = batch->at("random").span<uint64_t>();
      std::pair got(std::vector<int64_t>(x.begin(), x.end()),
                    std::vector<uint64_t>(random.begin(), random.end()));
      if (workers == 0) {
        expected.push_back(got);
      } else {
        EXPECT_EQ(got, expected[i]) << workers << " workers, batch " << i;
      }
    }
    EXPECT_EQ(loader->broken_examples(), 6);
  }
}

TEST(LoaderTest, SeekGoesOnWithTheSameBatches) {
  const LoaderOptions options{.batch_size = 3, .shuffle = true, .seed = 5, .workers = 2};
  auto whole = Make(std::make_shared<Numbers>(20), options);
  std::vector<std::vector<int64_t>> batches;
  for (int i = 0; i < 21; ++i) batches.push_back(NextX(*whole));
  auto resumed = Make(std::make_shared<Numbers>(20), options);
  for (const int64_t start : {9, 0, 13, 6}) {
    resumed->Seek(start / 7, start % 7);
    EXPECT_EQ(resumed->position().epoch, start / 7);
    EXPECT_EQ(resumed->position().batch, start % 7);
    for (int64_t i = start; i < 21; ++i)
      EXPECT_EQ(NextX(*resumed), batches[static_cast<size_t>(i)]);
    EXPECT_EQ(resumed->position().epoch, 3);
    EXPECT_EQ(resumed->position().batch, 0);
  }
}

TEST(LoaderTest, PrefetchIsBounded) {
  auto data = std::make_shared<Numbers>(1000);
  auto loader = Make(data, {.batch_size = 2, .workers = 3, .prefetch = 5});
  NextX(*loader);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(data->reads.load(), 2 * (1 + 5));
}

TEST(LoaderTest, BrokenExamplesAreErrorsOrSkipped) {
  const auto data = std::make_shared<Numbers>(6, std::vector<int64_t>{2, 3, 4});
  auto strict = Make(data, {.batch_size = 2});
  EXPECT_THAT(NextX(*strict), ElementsAre(0, 1));
  const auto batch = strict->Next();
  EXPECT_TRUE(absl::IsDataLoss(batch.status()));
  EXPECT_THAT(std::string(batch.status().message()), HasSubstr("record 2 is broken"));
  auto skipping = Make(data, {.batch_size = 2, .skip_broken = true});
  EXPECT_THAT(NextX(*skipping), ElementsAre(0, 1));
  EXPECT_EQ(skipping->broken_examples(), 0);
  EXPECT_THAT(NextX(*skipping), ElementsAre(5));  // the batch of 2 and 3 is passed over
  EXPECT_EQ(skipping->broken_examples(), 3);
  EXPECT_EQ(skipping->position().epoch, 1);
  auto hopeless = Make(std::make_shared<Numbers>(2, std::vector<int64_t>{0, 1}),
                       {.batch_size = 1, .skip_broken = true});
  EXPECT_TRUE(absl::IsDataLoss(hopeless->Next().status()));
}

TEST(LoaderTest, WeightsDrawWithReplacement) {
  LoaderOptions options{.batch_size = 100, .seed = 2};
  options.weights = {1, 0, 3, 0};
  options.examples_per_epoch = 4000;
  auto loader = Make(std::make_shared<Numbers>(4), options);
  EXPECT_EQ(loader->batches_per_epoch(), 40);
  const std::vector<int64_t> drawn = Epoch(*loader);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 1) + std::count(drawn.begin(), drawn.end(), 3),
            0);
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), 0)), 1000,
              100);  // 3.7 sigma
  EXPECT_NE(Epoch(*loader), drawn);
  auto batch = loader->Next();
  const auto random = batch->at("random").span<uint64_t>();
  EXPECT_EQ(std::set<uint64_t>(random.begin(), random.end()).size(), 100u);
}

// Lengths of 1 to 40 at random: the padding that is left is a small part of what it was.
TEST(LoaderTest, BatchesOfEqualLengthsArePaddedLess) {
  constexpr int64_t kSize = 1003, kBatch = 8;
  std::vector<int64_t> lengths(kSize);
  for (int64_t i = 0; i < kSize; ++i)
    lengths[static_cast<size_t>(i)] = 1 + static_cast<int64_t>(ExampleRandom(5, 0, i) % 40);
  const auto padding = [&](const std::vector<int64_t>& order) {
    int64_t padded = 0;
    for (size_t begin = 0; begin + kBatch <= order.size(); begin += kBatch) {
      int64_t longest = 0, sum = 0;
      for (size_t i = begin; i < begin + kBatch; ++i) {
        longest = std::max(longest, lengths[static_cast<size_t>(order[i])]);
        sum += lengths[static_cast<size_t>(order[i])];
      }
      padded += longest * kBatch - sum;
    }
    return padded;
  };
  LoaderOptions options = {.batch_size = kBatch, .shuffle = true, .seed = 3};
  const std::vector<int64_t> shuffled = EpochOrder(kSize, options, 1);
  options.lengths = lengths;
  const std::vector<int64_t> grouped = EpochOrder(kSize, options, 1);
  EXPECT_LT(padding(grouped), padding(shuffled) / 20);
  EXPECT_EQ(EpochOrder(kSize, options, 1), grouped);
  EXPECT_NE(EpochOrder(kSize, options, 2), grouped);
  // Each example comes once; what fills no batch is what the shuffled order has there.
  std::vector<int64_t> sorted = grouped;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, InOrder(kSize));
  EXPECT_TRUE(
      std::equal(grouped.end() - kSize % kBatch, grouped.end(), shuffled.end() - kSize % kBatch));
  // Batches do not come by length.
  std::vector<int64_t> firsts;
  for (size_t i = 0; i + kBatch <= grouped.size(); i += kBatch)
    firsts.push_back(lengths[static_cast<size_t>(grouped[i])]);
  EXPECT_FALSE(std::is_sorted(firsts.begin(), firsts.begin() + 50, std::greater<>()));
}

// Draws with replacement are grouped, too, and the loader gives the batches of the order.
TEST(LoaderTest, DrawnExamplesAreGrouped) {
  const LoaderOptions options = {.batch_size = 2,
                                 .weights = {0, 1, 1, 1, 0, 1},
                                 .examples_per_epoch = 12,
                                 .lengths = {9, 1, 2, 3, 9, 4}};
  const auto loader = Make(std::make_shared<Numbers>(6), options);
  const std::vector<int64_t> order = Epoch(*loader);
  EXPECT_EQ(order, EpochOrder(6, options, 0));
  for (size_t i = 0; i + 1 < order.size(); i += 2) EXPECT_GE(order[i], order[i + 1]);
  std::vector<int64_t> drawn =
      EpochOrder(6, {.weights = options.weights, .examples_per_epoch = 12}, 0);
  EXPECT_THAT(order, ::testing::UnorderedElementsAreArray(drawn));
}

TEST(LoaderTest, BadOptionsAreRefused) {
  const auto error = [](const LoaderOptions& options, int64_t size = 4) {
    const auto loader = Loader::Create(std::make_shared<Numbers>(size), options);
    return loader.ok() ? "OK" : std::string(loader.status().message());
  };
  EXPECT_THAT(error({.batch_size = 0}), HasSubstr("batch_size must be positive, got 0"));
  EXPECT_THAT(error({.workers = -1}), HasSubstr("workers"));
  EXPECT_THAT(error({}, 0), HasSubstr("a data set of 0 examples does not fill a batch"));
  EXPECT_THAT(error({.batch_size = 5, .drop_last = true}), HasSubstr("does not fill a batch of 5"));
  EXPECT_THAT(error({.pad = {{"y", 0}}}), HasSubstr("no field 'y'; it has x, random"));
  EXPECT_THAT(error({.weights = {1, 2}}), HasSubstr("2 weights for 4 examples"));
  EXPECT_THAT(error({.shuffle = true, .lengths = {1}}), HasSubstr("1 lengths for 4 examples"));
  EXPECT_THAT(error({.lengths = {1, 2, 3, 4}}), HasSubstr("shuffle is false"));
  EXPECT_THAT(error({.weights = {1, -2, 0, 0}}), HasSubstr("the weight of example 1 is -2"));
  EXPECT_THAT(error({.weights = {0, 0, 0, 0}}), HasSubstr("the sum of the weights is 0"));
}

TEST(LoaderTest, WhatTheConfigSays) {
  DataConfig config;
  const auto data = TensorDataset({{"label", Tensor::Of<int64_t>({4}, {0, 1, 1, 1})}});
  ASSERT_TRUE(data.ok());
  EXPECT_TRUE(OptionsOf(config, **data, true)->shuffle);
  EXPECT_FALSE(OptionsOf(config, **data, false)->drop_last);
  config.mutable_sampling();
  EXPECT_THAT(OptionsOf(config, **data, true)->weights, ElementsAre(1, 1 / 3., 1 / 3., 1 / 3.));
  EXPECT_TRUE(OptionsOf(config, **data, false)->weights.empty());
  config.mutable_sampling()->add_class_weight(5);
  EXPECT_THAT(std::string(OptionsOf(config, **data, true).status().message()),
              HasSubstr("class 1 is beyond the 1 weights"));
  config.mutable_sampling()->add_class_weight(0.5);
  EXPECT_THAT(OptionsOf(config, **data, true)->weights, ElementsAre(5, 0.5, 0.5, 0.5));
}

// The first padded fields decide; a broken example has no length.
TEST(LoaderTest, LengthsAreThoseOfPaddedFields) {
  class Padded : public Dataset {
   public:
    int64_t size() const override { return 3; }
    const std::vector<Field>& fields() const override { return fields_; }
    absl::StatusOr<std::vector<Tensor>> Read(int64_t index, uint64_t) const override {
      if (index == 1) return absl::DataLossError("broken");
      return std::vector<Tensor>{Tensor(DType::kInt64, {index + 1}), Tensor(DType::kInt64, {7}),
                                 Tensor(DType::kInt64, {2 * index + 1, 9})};
    }

   private:
    std::vector<Field> fields_ = {
        {.name = "a", .type = Type::Tensor(DType::kInt64, SymbolicDims{Dim()}), .pad = 0},
        {.name = "b", .type = Type::Tensor(DType::kInt64, SymbolicDims{7})},
        {.name = "c", .type = Type::Tensor(DType::kInt64, SymbolicDims{Dim(), 9}), .pad = 0}};
  };
  DataConfig config;
  config.set_group_by_length(true);
  EXPECT_THAT(OptionsOf(config, Padded(), true)->lengths, ElementsAre(1, 0, 5));
  EXPECT_TRUE(OptionsOf(config, Padded(), false)->lengths.empty());
  EXPECT_THAT(std::string(OptionsOf(config, Numbers(4), true).status().message()),
              HasSubstr("group_by_length: no field of the data is padded"));
}

// The rows of all ranks in their order are the batch of one, whatever is left out of it.
TEST(LoaderTest, SlicesOfRanksMakeTheBatch) {
  for (const std::vector<int64_t>& broken : {std::vector<int64_t>{}, {1, 4, 6, 7}}) {
    for (const int ranks : {2, 3, 5}) {
      const auto data = std::make_shared<Numbers>(17, broken);
      LoaderOptions options;
      options.batch_size = 4;
      options.shuffle = broken.empty();
      options.skip_broken = !broken.empty();
      const auto whole = Make(data, options);
      std::vector<std::unique_ptr<Loader>> slices;
      for (options.rank = 0, options.ranks = ranks; options.rank < ranks; ++options.rank)
        slices.push_back(Make(data, options));
      for (int64_t i = 0; i < 2 * whole->batches_per_epoch(); ++i) {
        const std::vector<int64_t> want = NextX(*whole);
        std::vector<int64_t> got;
        for (const auto& slice : slices) {
          const std::vector<int64_t> rows = NextX(*slice);
          const BatchSlice& of = slice->slice();
          EXPECT_EQ(of.whole, static_cast<int64_t>(want.size()));
          EXPECT_EQ(slice->places().rows.size(), rows.size());
          EXPECT_EQ(rows[0], want[static_cast<size_t>(of.begin)]);
          EXPECT_EQ(static_cast<int64_t>(rows.size()), std::max<int64_t>(of.rows, 1));
          got.insert(got.end(), rows.begin(), rows.begin() + of.rows);
          EXPECT_EQ(slice->broken_examples() > 0 || broken.empty(), true);
        }
        EXPECT_EQ(got, want);
      }
    }
  }
}

}  // namespace
}  // namespace onward::training
